import { test } from "vitest";
import { checkSequences, longest } from "./support/sequences.ts";

const share = { seed: 1, runs: 150 };

test("the first half of the sequences keeps every promise", () => checkSequences(share), longest(share));
