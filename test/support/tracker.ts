import type { OutcomeTracker } from "../../src/model/recovery.ts";

/** A tracker for runs whose recovery log no test reads: it reports every outcome as saved. */
export const forgetfulTracker: OutcomeTracker = {
  track: () => ({ release: () => {}, save: () => "recovery.ndjson" }),
};
