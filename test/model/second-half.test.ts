import { test } from "vitest";
import { checkSequences, longest } from "./support/sequences.ts";

const share = { seed: 2, runs: 150 };

test("the second half of the sequences keeps every promise", () => checkSequences(share), longest(share));
