/** The limit that a run has reached before its plan was through: of calls, or of time. */
export type RunLimit = "max_calls" | "until";
