import fc from "fast-check";
import { expect, test } from "vitest";
import { parseAllDocuments, stringify } from "yaml";
import { addDrafts, formatDraft } from "../../../src/manifest/format-draft.ts";
import type { Desired, DesiredAttachment } from "../../../src/model/desired.ts";
import { someAttributes } from "../../support/attributes.ts";
import { complete } from "../../support/complete.ts";
import { draftWith, wanted } from "../../support/planning.ts";
import { runs } from "../../support/runs.ts";
import { load } from "./support.ts";

const id = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
const line = fc
  .string({ unit: "grapheme", maxLength: 12 })
  .filter((text) => !/[\p{Cc}\p{Cs}\u2028-\u202e\u2066-\u2069\ufeff]/u.test(text));
const awkward = fc.constantFrom(
  ..."2020 · 1.10 · true · null · ~ ·  · yes · 0x1F · - a · a: b · # no · *x · << ·  pad ".split(" · "),
);
const text = fc.oneof(line, awkward);
const name = text.filter((each) => each !== "");
const prose = fc.oneof(
  text,
  fc.array(text, { maxLength: 4 }).map((lines) => lines.join("\n")),
);

const reference = fc.oneof(
  fc.record({ file_id: id }),
  fc.record({ upload_id: name }),
  fc.record({ upload_key: name }),
);

const list = <T>(attributes: fc.Arbitrary<T>) =>
  fc.uniqueArray(
    fc.tuple(reference, attributes).map(([ref, rest]) => ({ ref, rest })),
    { maxLength: 4, selector: ({ ref }) => JSON.stringify(ref) },
  );

const draft = fc.record(
  {
    draft: id,
    title: name,
    protect: fc.boolean(),
    product_files: list(someAttributes("product_files", text)),
    promotional_files: list(someAttributes("promotional_files", prose)),
    publish: fc.oneof(fc.boolean(), fc.record({ revision: id })),
  },
  { requiredKeys: ["draft"] },
);

const duplicate = fc.record({ name, product: fc.oneof(id, fc.record({ draft: id })) });

const catalogue = fc.record({
  drafts: fc.uniqueArray(draft, { maxLength: 5, selector: (each) => each.draft }),
  duplicates: fc.uniqueArray(duplicate, { maxLength: 4, selector: (each) => each.name.normalize("NFKC") }),
});

type Catalogue = typeof catalogue extends fc.Arbitrary<infer T> ? T : never;

/** The desired state in a canonical form, without positions and order. */
function plain(desired: Desired) {
  const attachment = ({ address, attributes }: DesiredAttachment) => ({ address, attributes });
  return {
    drafts: desired.drafts
      .map(({ draftId, title, protect, managed, attachments, publish }) => ({
        draftId,
        title,
        managed,
        protect,
        attachments: attachments.map(attachment),
        revision: publish?.revision,
      }))
      .sort((a, b) => a.draftId - b.draftId),
    duplicates: desired.duplicates
      .map((each) => ({ name: each.name, product: each.product }))
      .sort((a, b) => (a.name < b.name ? -1 : 1)),
  };
}

function expected({ drafts, duplicates }: Catalogue) {
  return {
    drafts: drafts
      .map((each) => ({
        draftId: each.draft,
        title: each.title,
        managed: (["product_files", "promotional_files"] as const).filter((kind) => each[kind] !== undefined),
        protect: each.protect ?? false,
        attachments: (["product_files", "promotional_files"] as const).flatMap((kind) =>
          (each[kind] ?? []).map(({ ref, rest }) => ({
            address: { type: "attachment", draftId: each.draft, kind, ref: refOf(ref) },
            attributes: rest,
          })),
        ),
        revision:
          typeof each.publish === "object" ? each.publish.revision : each.publish === true ? 1 : undefined,
      }))
      .sort((a, b) => a.draftId - b.draftId),
    duplicates: duplicates
      .map(({ name: copy, product }) => ({
        name: copy.normalize("NFC"),
        product:
          typeof product === "number"
            ? { by: "product_id", productId: product }
            : { by: "draft", draftId: product.draft },
      }))
      .sort((a, b) => (a.name < b.name ? -1 : 1)),
  };
}

function refOf(ref: Record<string, unknown>) {
  if ("file_id" in ref) return { by: "file_id", fileId: ref.file_id };
  return "upload_id" in ref
    ? { by: "upload_id", uploadId: ref.upload_id }
    : { by: "upload_key", uploadKey: ref.upload_key };
}

function documentsOf({ drafts, duplicates }: Catalogue): string[] {
  const entries = (list: readonly { ref: object; rest: object }[]) =>
    list.map(({ ref, rest }) => ({ ...ref, ...rest }));
  const values: object[] = drafts.map(
    ({ product_files: product, promotional_files: promotional, ...rest }) => ({
      ...rest,
      ...(product === undefined ? {} : { product_files: entries(product) }),
      ...(promotional === undefined ? {} : { promotional_files: entries(promotional) }),
    }),
  );
  for (const each of duplicates) values.push({ duplicates: [each] });
  return values.map((value) => stringify(value));
}

/** Spreads documents over three files. */
function filesOf(documents: readonly string[]): Record<string, string> {
  const files: Record<string, string> = { "z.yaml": "---\ndraft: 8\n---\n" };
  for (const [index, document] of documents.entries()) {
    const file = `m${index % 3}/a.yaml`;
    files[file] = `${files[file] ?? ""}---\n${document}`;
  }
  return files;
}

const withoutEight = catalogue.filter(({ drafts }) => drafts.every((each) => each.draft !== 8));

test("reads written YAML back to the same state", async () => {
  await fc.assert(
    fc.asyncProperty(withoutEight, async (given) => {
      const { desired } = complete(await load(filesOf(documentsOf(given))));
      const read = plain(desired);
      expect({ ...read, drafts: read.drafts.filter(({ draftId }) => draftId !== 8) }).toEqual(
        expected(given),
      );
    }),
    runs(60),
  );
});

const anyDefaults = fc.record(
  {
    product_files: someAttributes("product_files", text),
    promotional_files: someAttributes("promotional_files", prose),
  },
  { requiredKeys: [] },
);

test("reads a printed draft, which includes its defaults, back to the same state", async () => {
  await fc.assert(
    fc.asyncProperty(withoutEight, fc.array(anyDefaults, { maxLength: 3 }), async (given, defaults) => {
      const files = filesOf(documentsOf({ ...given, duplicates: [] }));
      for (const [index, each] of defaults.entries())
        files[["d.yaml", "m0/d.yaml", "m1/d.yaml"][index] ?? ""] = stringify({ defaults: each });
      const { desired } = complete(await load(files));
      const printed = desired.drafts.map(formatDraft);
      for (const document of printed) expect(document).not.toMatch(/(?!\n)[\p{C}\p{Zl}\p{Zp}]/u);
      const again = complete(await load({ "m/all.yaml": printed.join("---\n") }));
      expect(plain(again.desired)).toEqual(plain(desired));
    }),
    runs(60),
  );
});

test("reads any text without throwing", async () => {
  const lines = fc.array(
    fc.oneof(
      fc.constantFrom(...["draft: 1", "product_files:", "  - file_id: 2", "    renderer: &a x", "  - *a"]),
      fc.constantFrom(..."--- ... { ] \" ' | >- \t # !x \r \0".split(" ")),
      fc.constantFrom("<<: *a", "? a", ": b", "- [", "%YAML 1.1"),
      fc.string({ unit: "binary" }),
    ),
    { maxLength: 12 },
  );
  await fc.assert(
    fc.asyncProperty(lines, async (parts) => {
      const { diagnostics } = await load({ "a.yaml": parts.join("\n") });
      for (const { place } of diagnostics) expect(place?.line).toBeGreaterThan(0);
    }),
    runs(100),
  );
});

const imported = (description: string) =>
  draftWith(2, {
    managed: ["promotional_files"],
    attachments: [wanted(2, "promotional_files", { by: "file_id", fileId: 7 }, { description })],
  });

test("an imported text has no raw control, bidi or line separator characters in the manifest", () => {
  const description = "safe \u202e gnp.exe \u009b31m red \u2028 next\u200b";
  for (const before of ["", '# Ours.\ndraft: 1\ntitle: "a\\x85b"\n']) {
    const after = addDrafts(before, [imported(description)]) ?? "";
    expect(after).not.toMatch(/(?!\n)[\p{C}\p{Zl}\p{Zp}]/u);
    expect(after).toContain("\\u202e");
    expect(parseAllDocuments(after).at(-1)?.toJS()).toMatchObject({ promotional_files: [{ description }] });
  }
});

test("a manifest keeps its line ends and its byte order mark when a draft is added", () => {
  const before = "\uFEFF# Ours.\r\ndraft: 1\r\n";
  expect(addDrafts(before, [imported("x")])).toBe(
    `${before}---\r\ndraft: 2\r\npromotional_files:\r\n  - file_id: 7\r\n    description: x\r\n`,
  );
});
