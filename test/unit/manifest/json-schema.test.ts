import { Ajv } from "ajv";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { manifestJsonSchema } from "../../../src/manifest/manifest-schema.ts";
import { read } from "./support.ts";

// `strictRequired` rejects alternatives of `required` whose properties are declared next to them.
const validate = new Ajv({ strict: true, strictRequired: false, allErrors: true }).compile(
  manifestJsonSchema(),
);

const valid: readonly string[] = [
  "draft: 1",
  "draft: 9007199254740991\nprotect: false\nproduct_files: []\npromotional_files: []\npublish: false",
  "draft: 1\nproduct_files:\n  - { file_id: 1, file_format: fbx, format_version: '1', renderer: r, renderer_version: '2', is_native: true }",
  "draft: 1\nproduct_files:\n  - { source: ../a b.fbx, renderer: '' }\n  - upload_id: x\n  - upload_key: y",
  'draft: 1\npromotional_files:\n  - { file_id: 1, description: "a\\nb\\tc" }\npublish: { revision: 3 }',
  "duplicates: []",
  "duplicates:\n  - { name: a b, product: 1 }\n  - { name: 龍, product: { draft: 2 } }",
];

const invalid: readonly string[] = [
  "protect: true",
  "[]",
  "text",
  "draft: '1'",
  "draft: 0",
  "draft: -1",
  "draft: 1.5",
  "draft: 9007199254740992",
  "draft: null",
  "draft: 1\nprotect: 1",
  "draft: 1\nprotect: 'yes'",
  "draft: 1\nduplicates: []",
  "draft: 1\ncolour: red",
  "draft: 1\nproduct_files: {}",
  "draft: 1\nproduct_files: null",
  "draft: 1\nproduct_files: [{}]",
  "draft: 1\nproduct_files: [{ renderer: a }]",
  "draft: 1\nproduct_files: [{ file_id: 1, source: a }]",
  "draft: 1\nproduct_files: [{ file_id: 1, format_version: 2020 }]",
  "draft: 1\nproduct_files: [{ file_id: 1, renderer: null }]",
  'draft: 1\nproduct_files: [{ file_id: 1, renderer: "a\\nb" }]',
  "draft: 1\nproduct_files: [{ file_id: 1, is_native: yes }]",
  "draft: 1\nproduct_files: [{ file_id: 1, description: a }]",
  "draft: 1\nproduct_files: [{ upload_key: '' }]",
  "draft: 1\nproduct_files: [{ upload_id: 12 }]",
  "draft: 1\nproduct_files: [{ source: 'a\\b' }]",
  "draft: 1\nproduct_files: [{ source: /a }]",
  "draft: 1\nproduct_files: [{ source: 'C:/a' }]",
  'draft: 1\nproduct_files: [{ source: "a\\u202eb" }]',
  "draft: 1\npromotional_files: [{ file_id: 1, renderer: a }]",
  "draft: 1\npublish: 2",
  "draft: 1\npublish: {}",
  "draft: 1\npublish: { revision: 0 }",
  "draft: 1\npublish: { revision: 1, force: true }",
  "duplicates: {}",
  "duplicates: [{ name: a }]",
  "duplicates: [{ product: 1 }]",
  "duplicates: [{ name: '', product: 1 }]",
  "duplicates: [{ name: a, product: '1' }]",
  "duplicates: [{ name: a, product: { draft: '1' } }]",
];

function asJson(text: string): unknown {
  return parseAllDocuments(text)[0]?.toJS();
}

test.each(valid)("the JSON Schema and the reader accept %j", (text) => {
  validate(asJson(text));
  expect(validate.errors ?? []).toEqual([]);
  expect(read(text)).toEqual([]);
});

test.each(invalid)("the JSON Schema and the reader reject %j", (text) => {
  expect(validate(asJson(text))).toBe(false);
  expect(read(text)).not.toEqual([]);
});

test("the JSON Schema describes every key", () => {
  const missing: string[] = [];
  const visit = (value: unknown, path: string): void => {
    if (typeof value !== "object" || value === null) return;
    const properties = "properties" in value ? value.properties : undefined;
    if (typeof properties === "object" && properties !== null) {
      for (const [name, schema] of Object.entries(properties)) {
        if (typeof schema?.description !== "string" || schema.description.length < 10)
          missing.push(`${path}/${name}`);
      }
    }
    for (const [name, child] of Object.entries(value)) visit(child, `${path}/${name}`);
  };
  const schema = manifestJsonSchema();
  visit(schema, "");
  expect(missing).toEqual([]);
  expect(schema).toMatchObject({
    title: "draftsync manifest",
    $schema: "http://json-schema.org/draft-07/schema#",
  });
  expect(schema).not.toHaveProperty("$id");
});
