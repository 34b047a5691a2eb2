import { describe, expect, test } from "vitest";
import { z } from "zod";
import { configJsonSchema } from "../../src/cli/config-schema.ts";
import { manifestJsonSchema } from "../../src/manifest/json-schema.ts";
import { draftDocument, duplicatesDocument } from "../../src/manifest/manifest-schema.ts";
import { eventJsonSchema } from "../../src/model/event-schema.ts";
import { commandReference } from "../support/command-reference.ts";
import { schemaReference } from "../support/schema-reference.ts";

const asJsonSchema = (schema: z.ZodType) => z.toJSONSchema(schema, { target: "draft-7", io: "input" });

const references = [
  {
    page: "config",
    text: `# The config: \`draftsync.yaml\`

It names the workspace, its manifests, its service and its ledger. What is left out has its default; a name that is not
on this page is an error. \`draftsync schema config\` prints the JSON Schema, for editors.

${schemaReference(configJsonSchema())}
`,
  },
  {
    page: "manifest",
    text: `# Manifests

A manifest is a YAML file of one or more documents, separated by \`---\`. Each is a draft or a list of duplicates. What is
left out is not managed; a name that is not on this page is an error. \`draftsync schema\` prints the JSON Schema, for
editors.

## A draft

${schemaReference(asJsonSchema(draftDocument), 3)}

## A list of duplicates

${schemaReference(asJsonSchema(duplicatesDocument), 3)}
`,
  },
  {
    page: "commands",
    text: `# Commands

Results go to standard output, everything else to standard error. \`draftsync help COMMAND\` shows the same on a terminal.

${commandReference()}
`,
  },
];

const fix = "it is not what the code says: `npm run docs` writes it again";
const notice = "<!-- Made from the code by `npm run docs`: change the words there. -->\n\n";

test.each([
  { name: "config", schema: configJsonSchema() },
  { name: "events", schema: eventJsonSchema() },
  { name: "manifest", schema: manifestJsonSchema() },
])("manifests/$name.schema.json is the schema of this version", async ({ name, schema }) => {
  const text = `${JSON.stringify(schema, undefined, 2)}\n`;
  await expect(text, fix).toMatchFileSnapshot(`../../manifests/${name}.schema.json`);
});

describe("docs/reference", () => {
  test.each(references)("the page of $page is what the code says", async ({ page, text }) => {
    await expect(notice + text, fix).toMatchFileSnapshot(`../../docs/reference/${page}.md`);
  });
});
