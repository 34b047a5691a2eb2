import { test } from "vitest";
import { checkSequences, shareTimeoutMs } from "./support/sequences.ts";

const share = { seed: 1, runs: 150 };

test(
  "keeps every promise in the first half of the random sequences",
  () => checkSequences(share),
  shareTimeoutMs(share),
);
