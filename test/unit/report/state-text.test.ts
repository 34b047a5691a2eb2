import { expect, test } from "vitest";
import { makePalette } from "../../../src/report/palette.ts";
import { formatEntryList, listEntries } from "../../../src/report/state-text.ts";
import { recordedFile, recordedWith } from "../../support/planning.ts";

const at = Date.parse("2026-11-23T08:19:55.696Z");
const entries = listEntries(
  recordedWith({
    titles: new Map([[48213, "Sea Serpent"]]),
    attachments: [
      recordedFile(48213, 9900011, { provenance: { by: "post", at } }),
      recordedFile(48213, 9900012, {
        address: "drafts/48213/product_files/source:files/dragon.blend",
        provenance: { by: "import", at },
      }),
    ],
  }),
);

test("lists records in columns on a wide terminal, with times to the minute", () => {
  expect(formatEntryList(entries, makePalette(false), 120)).toBe(
    `drafts/48213 · Sea Serpent
  drafts/48213/product_files/9900011                    file 9900011  confirmed by POST 2026-11-23 08:19 UTC
  drafts/48213/product_files/source:files/dragon.blend  file 9900012  imported 2026-11-23 08:19 UTC
`,
  );
});

test("lists each record in two lines on a narrow terminal", () => {
  const text = formatEntryList(entries, makePalette(false), 80);
  expect(text).toContain(
    "  drafts/48213/product_files/9900011\n    file 9900011  confirmed by POST 2026-11-23 08:19 UTC\n",
  );
  for (const line of text.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
});
