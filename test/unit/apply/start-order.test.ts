import { expect, test } from "vitest";
import { byTurn, pastTurns } from "../../../src/apply/start-order.ts";

test("what never had a turn comes first, then what had it longest ago", () => {
  const turns = new Map([
    ["a", 3],
    ["b", 1],
  ]);
  expect(byTurn(["a", "b", "c"], turns, (item) => item)).toEqual(["c", "b", "a"]);
});

test("a turn by a clock that was ahead does not count", () => {
  const turns = new Map([
    ["a", 3],
    ["b", 1],
  ]);
  expect(byTurn(["b", "a"], pastTurns(turns, 2), (item) => item)).toEqual(["a", "b"]);
});
