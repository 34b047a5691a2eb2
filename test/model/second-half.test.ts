import { test } from "vitest";
import { checkSequences, shareTimeoutMs } from "./support/sequences.ts";

const share = { seed: 2, runs: 150 };

test(
  "keeps every promise in the second half of the random sequences",
  () => checkSequences(share),
  shareTimeoutMs(share),
);
