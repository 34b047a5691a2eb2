import fc from "fast-check";
import { expect, test } from "vitest";
import { indexRecorded } from "../../../src/plan/recorded-index.ts";
import { recordedFile, recordedWith } from "../../support/planning.ts";

const fileId = fc.integer({ min: 1, max: 12 });

test("whatever is asked for, in whatever order and however often, is found when it is there", () => {
  fc.assert(
    fc.property(fc.uniqueArray(fileId), fc.array(fileId, { maxLength: 30 }), (there, asked) => {
      const attachments = there.map((id) => recordedFile(1, id));
      const index = indexRecorded(recordedWith({ attachments }));
      const found = asked.map((id) => index.at(recordedFile(1, id).address));
      expect(found).toEqual(asked.map((id) => attachments.find((each) => each.fileId === id)));
    }),
  );
});

test("asked for in their own order, all are found", () => {
  const attachments = [3, 1, 2].map((id) => recordedFile(1, id));
  const index = indexRecorded(recordedWith({ attachments }));
  expect(attachments.map(({ address }) => index.at(address))).toEqual(attachments);
});
