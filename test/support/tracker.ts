import type { OutcomeTracker } from "../../src/model/recovery.ts";

/** A tracker that reports every outcome as saved, for runs whose recovery log is not read. */
export const forgetfulTracker: OutcomeTracker = {
  track: () => ({ release: () => {}, save: () => "recovery.ndjson" }),
};
