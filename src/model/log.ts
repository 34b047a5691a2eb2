/** How much a line of the log weighs. `debug` is shown with `--verbose` alone. */
export type LogLevel = "error" | "warning" | "info" | "debug";

/** A log entry next to a command's result: text for people, or one JSON object for log collectors. */
export interface LogEntry {
  readonly level: LogLevel;
  /** As people are to see it: with its colours, line breaks and the line feed at its end. */
  readonly text: string;
  /** In place of `text` in JSON: without label, colours and layout. */
  readonly message?: string;
  /** Stable; kebab-case, or the type of an event. */
  readonly code?: string;
  /** Further members of the JSON object, none of them named as one above. No secrets. */
  readonly facts?: Readonly<Record<string, unknown>>;
  /** A result, or part of a question: shown also to who wants results and errors only. */
  readonly isResult?: boolean;
}
