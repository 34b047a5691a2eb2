import { describe, expect, test } from "vitest";
import { z } from "zod";
import { readYaml } from "../../../src/manifest/read-yaml.ts";
import { brief, briefs } from "./support.ts";

const settings = z.strictObject({
  version: z.literal(1),
  name: z.string().min(1).meta({ description: "The name to show." }),
  mode: z.exactOptional(z.enum(["none", "probe", "full"])),
  target: z.union([
    z.literal("sandbox"),
    z.strictObject({ url: z.url(), limit: z.exactOptional(z.int().max(10)) }),
  ]),
  percent: z.exactOptional(z.number()),
  patterns: z.exactOptional(z.array(z.string()).min(1)),
  labels: z.exactOptional(z.record(z.string(), z.string())),
  wait: z.exactOptional(
    z
      .string()
      .refine((text) => /^[0-9]+s$/.test(text), {
        error: "{label} must be a time such as 30s",
        params: { code: "bad-time", hint: "Write a number and s." },
      })
      .transform((text) => Number.parseInt(text, 10)),
  ),
});

const base = "version: 1\nname: a\ntarget: sandbox\n";

function read(text: string, documents: "one" | "many" = "one") {
  const reading = readYaml({ file: "c.yaml", bytes: Buffer.from(text), schema: settings, documents });
  return reading.ok
    ? { documents: reading.documents, diagnostics: [] }
    : { documents: [], diagnostics: reading.errors };
}

test("returns the value of a valid file and the position of each part", () => {
  const { documents, diagnostics } = read(
    `${base}wait: 30s\npercent: 12.5\npatterns: [a, b]\nlabels: { x: y }\n`,
  );
  expect(diagnostics).toEqual([]);
  const [document] = documents;
  expect(document?.value).toEqual({
    version: 1,
    name: "a",
    target: "sandbox",
    wait: 30,
    percent: 12.5,
    patterns: ["a", "b"],
    labels: { x: "y" },
  });
  const start = `${base}wait: 30s\npercent: 12.5\npatterns: [a, `.length;
  expect(document?.root.get("patterns")?.get(1)?.span).toEqual([start, start + 1]);
  expect(document?.root.get("nothing")).toBeUndefined();
});

const failures: readonly (readonly [line: string, expected: string, hint: string])[] = [
  ["mode: prob", "4:7 unknown-value «prob»", 'Did you mean "probe"?'],
  ["mode: zzzzzzzz", "4:7 unknown-value «zzzzzzzz»", "one of these"],
  ["mode: 3", "4:7 unknown-value «3»", "one of these"],
  ["percent: many", "4:10 wrong-type «many»", "number"],
  ['percent: "30"', '4:10 quoted-number «"30"»', "percent: 30"],
  ["percent: 1e2", "4:10 ambiguous-number «1e2»", "digits"],
  ["patterns: []", "4:11 empty-list «[]»", "Add an entry"],
  ["patterns: a", "4:11 wrong-type «a»", "a list"],
  ["patterns: [1]", "4:12 unquoted-text «1»", '- "1"'],
  ["labels: { x: 1 }", "4:14 unquoted-text «1»", 'x: "1"'],
  ["wait: soon", "4:7 bad-time «soon»", "number and s"],
  ["wait: 30", "4:7 unquoted-text «30»", 'wait: "30"'],
  ["wiat: 30s", "4:1 unknown-key «wiat»", '"wait"'],
];

test.each(failures)("rejects %s", (line, expected, hint) => {
  const { diagnostics, documents } = read(`${base}${line}\n`);
  expect(briefs(diagnostics)).toEqual([expected]);
  expect(diagnostics[0]?.hint).toContain(hint);
  expect(documents).toEqual([]);
});

describe("alternatives", () => {
  test.each([
    [
      "target: sandbx",
      "3:9 wrong-type «sandbx»",
      '"sandbox" or a mapping with "url"',
      'Did you mean "sandbox"?',
    ],
    ["target: { url: here }", "3:16 invalid-value «here»", "url"],
    ["target: { url: 'https://a.b', limit: 11 }", "3:38 number-out-of-range «11»", "10"],
    ["target: { ulr: 'https://a.b' }", "3:11 unknown-key «ulr»", "ulr"],
    ["target: {}", "3:9 missing-key «{}»", '"url" is missing'],
  ])("are reported by the one that fits best: %s", (line, expected, message, hint = "") => {
    const [diagnostic, ...others] = read(`version: 1\nname: a\n${line}\n`).diagnostics;
    expect(diagnostic && brief(diagnostic)).toBe(expected);
    expect(diagnostic?.message).toContain(message);
    expect(diagnostic?.hint).toContain(hint);
    expect(others).toEqual([]);
  });
});

test("reports a missing key with its description, at the mapping", () => {
  const [diagnostic, ...others] = read("version: 1\ntarget: sandbox\n").diagnostics;
  expect(diagnostic).toMatchObject({ code: "missing-key", hint: "Add name: The name to show." });
  expect(diagnostic?.place).toEqual({ file: "c.yaml", line: 1, column: 1 });
  expect(others).toEqual([]);
});

test("reports the required value of a literal", () => {
  const [diagnostic] = read(base.replace("version: 1", "version: 2")).diagnostics;
  expect(diagnostic && brief(diagnostic)).toBe("1:10 unknown-value «2»");
  expect(diagnostic?.message).toBe('"version" must be 1');
});

test("rejects an empty file and a second document where it needs one document", () => {
  expect(read("# nothing\n").diagnostics).toMatchObject([{ severity: "error", code: "empty-file" }]);
  expect(briefs(read(`${base}---\n${base}`).diagnostics)).toEqual(["5:1 second-document «version: 1»"]);
  expect(read(`${base}---\n${base}`, "many").diagnostics).toEqual([]);
});
