import { expect, test } from "vitest";
import { complete } from "../../support/complete.ts";
import { brief, briefs, load, read } from "./support.ts";

test("accepts a byte order mark, which does not count as a column", () => {
  expect(read("\ufeffdraft: 1\n")).toEqual([]);
  expect(briefs(read('\ufeffdraft: "1"\n'))).toEqual(['1:8 quoted-number «"1"»']);
});

test.each([
  ["little-endian with a mark", Buffer.from("\ufeffdraft: 1\n", "utf16le")],
  ["little-endian without a mark", Buffer.from("draft: 1\n", "utf16le")],
  ["big-endian with a mark", Buffer.from("\ufeffdraft: 1\n", "utf16le").swap16()],
])("reports UTF-16: %s", (_name, bytes) => {
  const [diagnostic, ...others] = read(bytes);
  expect(diagnostic).toMatchObject({ code: "not-utf8", place: { line: 1, column: 1 } });
  expect(diagnostic?.message).toContain("UTF-16");
  expect(others).toEqual([]);
});

test("reports a byte that is not UTF-8 with its offset, line and column", () => {
  const bytes = Buffer.concat([
    Buffer.from("draft: 1\n# caf\u00e9 \ufffd "),
    Buffer.from([0xe9]),
    Buffer.from(" x\n"),
  ]);
  const [diagnostic] = read(bytes);
  expect(diagnostic && brief(diagnostic)).toBe("2:10 not-utf8 «\ufffd»");
  expect(diagnostic?.message).toContain("Byte 21 of the file (0xe9)");
});

test("counts a byte order mark in the offset of a byte", () => {
  const [diagnostic] = read(Buffer.concat([Buffer.from("\ufeff#"), Buffer.from([0xff])]));
  expect(diagnostic?.message).toContain("Byte 4 of the file (0xff)");
});

test("reads CRLF as line feeds, also in descriptions", async () => {
  const text = "draft: 1\npromotional_files:\n  - file_id: 2\n    description: |\n      One\n      Two\n";
  const unix = await load({ "a.yaml": text });
  const windows = await load({ "a.yaml": text.replaceAll("\n", "\r\n") });
  expect(windows.diagnostics).toEqual([]);
  expect(complete(windows).desired).toEqual(complete(unix).desired);
  expect(complete(unix).desired.drafts[0]?.attachments[0]?.attributes.description).toBe("One\nTwo\n");
});

test("rejects a file of more than 16 MiB without reading it", async () => {
  const { diagnostics } = await load({ "a.yaml": Buffer.alloc(50 * 1024 * 1024, "#") });
  expect(diagnostics).toMatchObject([{ code: "manifest-too-large", place: { file: "a.yaml", line: 1 } }]);
  expect(diagnostics[0]?.message).toContain("50.0 MiB");
});

test("reads a file of 16 MiB", async () => {
  const { diagnostics } = await load({ "a.yaml": Buffer.alloc(16 * 1024 * 1024, "#") });
  expect(briefs(diagnostics)).toEqual(["1:1 empty-file «#»"]);
});
