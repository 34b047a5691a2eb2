import fc from "fast-check";
import { expect, test } from "vitest";
import { Permits } from "../../../src/service/permits.ts";

test("never are more at work than there are permits, and all get theirs in the order in which they came", async () => {
  const turns = fc.array(fc.integer({ min: 1, max: 5 }), { maxLength: 40 });
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 5 }), turns, async (count, lengths) => {
      const permits = new Permits(count);
      const begun: number[] = [];
      let [atWork, most] = [0, 0];
      const work = async (index: number, length: number) => {
        await permits.take();
        begun.push(index);
        atWork += 1;
        most = Math.max(most, atWork);
        for (let turn = 0; turn < length; turn += 1) await Promise.resolve();
        atWork -= 1;
        permits.giveBack();
      };
      await Promise.all(lengths.map((length, index) => work(index, length)));
      expect(begun).toEqual([...lengths.keys()]);
      expect(most).toBe(Math.min(count, lengths.length));
      // All are back: as many as there were are to be had at once.
      expect(lengths.slice(0, count).map(() => permits.take())).toEqual(
        lengths.slice(0, count).map(() => undefined),
      );
    }),
  );
});
