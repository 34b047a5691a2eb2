import fc from "fast-check";
import { expect, test } from "vitest";
import { Roster } from "../../../src/model/roster.ts";

type Step = { readonly type: "add" } | { readonly type: "leave"; readonly which: number };

const steps = fc.array(
  fc.oneof(
    fc.constant<Step>({ type: "add" }),
    fc.nat(60).map((which): Step => ({ type: "leave", which })),
  ),
  { maxLength: 60 },
);

test("those who came and have not left are its members, however often one leaves", () => {
  fc.assert(
    fc.property(steps, (all) => {
      const roster = new Roster<number>();
      const came: { leave(): void }[] = [];
      const there = new Set<number>();
      for (const step of all) {
        if (step.type === "add") {
          there.add(came.length);
          came.push(roster.add(came.length));
        } else {
          const which = step.which % Math.max(1, came.length);
          there.delete(which);
          came[which]?.leave();
        }
        expect(new Set(roster.members())).toEqual(there);
        expect(roster.members()).toHaveLength(there.size);
      }
    }),
  );
});

test("who leaves while the members are gone through has been given, and the others too", () => {
  const roster = new Roster<string>();
  const places = ["a", "b", "c"].map((member) => roster.add(member));
  const seen: string[] = [];
  for (const member of roster.members()) {
    seen.push(member);
    for (const place of places) place.leave();
  }
  expect(seen).toEqual(["a", "b", "c"]);
  expect(roster.members()).toEqual([]);
});
