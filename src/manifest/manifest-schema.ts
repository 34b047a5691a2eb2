import { z } from "zod";
import type { attributeNames, FileKind } from "../model/resource.ts";
import { nearest } from "./nearest.ts";
import type { SchemaProblem } from "./read-yaml.ts";

const largestId = Number.MAX_SAFE_INTEGER;

/** The ways in which an entry names its file; exactly one of them. */
export const referenceNames = ["file_id", "upload_id", "upload_key", "source"] as const;

function id(description: string) {
  return z.int().min(1).max(largestId).meta({ description });
}

interface TextRule {
  readonly description: string;
  /** The same for JSON Schema and for the check here. */
  readonly pattern: RegExp;
  readonly code: string;
  /** Follows the name of the value. */
  readonly says: string;
  readonly hint: string;
}

function ruled(rule: TextRule, base = z.string()) {
  const { pattern, description, says, code, hint } = rule;
  return base
    .refine((text) => pattern.test(text), { error: `{label} ${says}`, params: { code, hint } })
    .meta({ description, pattern: pattern.source });
}

/** Control characters (Unicode Cc), line separators and characters that turn the reading direction. */
const unfit = "\\u0000-\\u001f\\u007f-\\u009f\\u2028-\\u202e\\u2066-\\u2069\\ufeff";
/** What else is printed as its code (sanitize-text.ts): a name with it could not be copied from a plan into a command. */
const unprinted = "\\u061c\\u200b\\u200e\\u200f\\u2060-\\u2065\\ufff9-\\ufffb\\u{e0000}-\\u{e007f}";
const oneLineRule = {
  pattern: new RegExp(`^[^${unfit}]*$`, "u"),
  code: "unfit-name",
  says: "must be one line without tabs, control characters or characters that turn the reading direction",
  hint: "Write it in quotes on one line, and type it again if it was pasted.",
};
const nameRule = {
  ...oneLineRule,
  pattern: new RegExp(`^[^${unfit}${unprinted}]*$`, "u"),
  says: "must be one line without tabs, control characters, invisible characters or characters that turn the reading direction",
};

/** What CI systems take for a command is printed as a code too (sanitize-text.ts). */
const copyNameRule = {
  ...nameRule,
  pattern: new RegExp(`^(?!.*##\\w*\\[)[^${unfit}${unprinted}]*$`, "u"),
  says: `${nameRule.says}, and without a CI log command (\`##\` before a bracket)`,
};

function name(description: string, rule = nameRule) {
  return ruled({ ...rule, description }, z.string().min(1));
}

function attribute(description: string) {
  return ruled({
    ...oneLineRule,
    description: `${description} One line. If absent, it is not managed; "" clears it.`,
  });
}

/** What a path may not start with: the root, a home folder, a drive letter or a URL's scheme. */
const notRelative = "(?![/~]|[A-Za-z][A-Za-z0-9+.-]*:)";

function localPath(description: string) {
  return ruled(
    {
      description,
      pattern: new RegExp(`^${notRelative}[^\\\\]*$`),
      code: "source-path",
      says: "must be a path relative to the manifest, with forward slashes",
      hint: "Write it like files/dragon.blend: no backslash, no leading / or ~, no drive letter and no URL.",
    },
    name(""),
  ).meta({ pattern: `^${notRelative}[^\\\\${unfit}${unprinted}]*$` });
}

// z.optional is faster here than z.exactOptional, which runs the schema on absent keys, too. Both accept the same, since
// values out of YAML are never undefined.
const references = {
  file_id: z.optional(id("Id of an uploaded file.")),
  upload_id: z.optional(name("Id of a registered upload.")),
  upload_key: z.optional(name("Key of an object in the service's storage.")),
  source: z.optional(
    localPath(
      "Path of a local file, relative to this manifest, with forward slashes, inside the workspace. It is uploaded again when its content changes.",
    ),
  ),
};

type Entry = Partial<Record<(typeof referenceNames)[number], unknown>>;

function namedBy(entry: Entry): readonly string[] {
  return referenceNames.filter((key) => Object.hasOwn(entry, key));
}

const oneReference = { oneOf: referenceNames.map((key) => ({ required: [key] })) };

/** Judged even when the entry has other mistakes, so that all are reported at once. */
const always = { when: ({ value }: { value: unknown }) => typeof value === "object" && value !== null };

/** A schema for each attribute of a collection. */
type SchemasOf<Kind extends FileKind> = Record<(typeof attributeNames)[Kind][number], z.ZodType>;

const optOut = z.boolean().meta({
  description: "With `false`, the `defaults` of the folder do not apply to this entry.",
});

/** An entry of a list of files: its reference, and the attributes of its collection. */
function fileEntry<Shape extends z.core.$ZodLooseShape>(attributes: Shape, description: string) {
  return z
    .strictObject({ ...references, ...attributes, defaults: z.optional(optOut) })
    .refine((entry) => namedBy(entry).length > 0, {
      ...always,
      error: "{label} names no file",
      params: {
        code: "missing-file",
        hint: "Add one of file_id, upload_id, upload_key or source.",
        oneOf: referenceNames,
      },
    })
    .refine((entry) => namedBy(entry).length < 2, {
      ...always,
      error: (issue) => `{label} names its file in more than one way: ${namedIn(issue.input).join(" and ")}`,
      params: {
        code: "ambiguous-file",
        hint: "Keep exactly one of file_id, upload_id, upload_key and source.",
      },
    })
    .meta({ description, ...oneReference });
}

function namedIn(input: unknown): readonly string[] {
  return typeof input === "object" && input !== null ? namedBy(input) : [];
}

const productAttributes = {
  file_format: z.optional(attribute("Id of the file format, such as `fbx`.")),
  format_version: z.optional(attribute('Version of the format, quoted if it looks like a number: `"2020"`.')),
  renderer: z.optional(attribute("Name of the renderer.")),
  renderer_version: z.optional(
    attribute('Version of the renderer, quoted if it looks like a number: `"7.2"`.'),
  ),
  is_native: z.optional(
    z.boolean().meta({
      description:
        "true: the file is in the format in which the product was made; false: it is not. If absent, it is not managed.",
    }),
  ),
} satisfies SchemasOf<"product_files">;

const promotionalAttributes = {
  description: z.optional(
    z.string().meta({
      description: 'Description, of any number of lines. If absent, it is not managed; "" clears it.',
    }),
  ),
} satisfies SchemasOf<"promotional_files">;

const productFile = fileEntry(
  productAttributes,
  "A product file, identified by exactly one of file_id, upload_id, upload_key and source.",
);

const descriptionFile = localPath(
  "Path of a UTF-8 text file with the description, relative to this manifest, with forward slashes, inside the workspace.",
);

const promotionalFile = fileEntry(
  { ...promotionalAttributes, description_file: z.optional(descriptionFile) },
  "A promotional file, identified by exactly one of file_id, upload_id, upload_key and source.",
).refine((entry) => entry.description === undefined || entry.description_file === undefined, {
  error: "{label} has both a description and a description_file",
  params: { code: "ambiguous-description", hint: "Keep one of the two.", key: "description_file" },
});

/** A document that says what one draft must hold. */
export const draftDocument = z
  .strictObject({
    draft: id("Id of the draft, in decimal digits."),
    title: z.optional(
      name("Name of the draft for people, shown with its address. It is never sent to the service."),
    ),
    protect: z.optional(
      z.boolean().meta({
        description:
          "With `true`, no file of this draft is ever deleted. The ledger records the protection, so removing this line does not lift it until the next apply.",
      }),
    ),
    product_files: z.optional(
      z.array(productFile).meta({
        description: "Product files of the draft. If absent, they are not managed; `[]` removes them all.",
      }),
    ),
    promotional_files: z.optional(
      z.array(promotionalFile).meta({
        description:
          "Promotional files of the draft. If absent, they are not managed; `[]` removes them all.",
      }),
    ),
    publish: z.optional(
      z
        .union([
          z.boolean(),
          z.strictObject({ revision: id("A higher number publishes again; `true` is revision 1.") }),
        ])
        .meta({
          description:
            "With `true` or `{ revision: 2 }`, publishes a product after all other changes of the draft are confirmed. It cannot be undone. Whether later changes of the draft reach the product is up to the service.",
        }),
    ),
  })
  .meta({ title: "Draft", description: "Files and publication of one draft." });

const duplicate = z
  .strictObject({
    name: name("Name of the copy in the ledger, unique in the workspace.", copyNameRule),
    product: z
      .union([
        id("Id of the product to copy."),
        z.strictObject({ draft: id("Draft whose published product to copy.") }),
      ])
      .meta({
        description: "Product to copy: its id, or `{ draft: 48213 }` for the product of that draft.",
      }),
  })
  .meta({ description: "A copy of a product. It cannot be undone." });

/** A document that lists the copies of products that must exist. */
export const duplicatesDocument = z
  .strictObject({
    duplicates: z.array(duplicate).meta({ description: "Copies of products." }),
  })
  .meta({ title: "Duplicates", description: "Copies of products." });

/** A document with attributes for the entries of all manifests in its folder and below. */
export const defaultsDocument = z
  .strictObject({
    defaults: z
      .strictObject({
        product_files: z.optional(
          z.strictObject(productAttributes).meta({ description: "Attributes of all product files." }),
        ),
        promotional_files: z.optional(
          z.strictObject(promotionalAttributes).meta({ description: "Attributes of all promotional files." }),
        ),
      })
      .meta({
        description:
          "Attributes for entries that do not have them, in this folder and below. The nearest defaults win; the value of an entry always wins.",
      }),
  })
  .meta({ title: "Defaults", description: "Attributes for the entries of a folder." });

/** Any document of a manifest. */
export const manifestDocument = z.union([draftDocument, duplicatesDocument, defaultsDocument]).meta({
  title: "draftsync manifest",
  description: "One document of a draftsync manifest: a draft, a list of duplicates, or defaults.",
});

/** A parsed draft document. */
export type DraftDocument = z.output<typeof draftDocument>;

/** A parsed duplicates document. */
export type DuplicatesDocument = z.output<typeof duplicatesDocument>;

/** A parsed defaults document. */
export type DefaultsDocument = z.output<typeof defaultsDocument>;

/** Any parsed document. */
export type ManifestDocument = DraftDocument | DuplicatesDocument | DefaultsDocument;

const kinds = ["draft", "duplicates", "defaults"] as const;

/** The schema of a manifest's document, by its first key; a misspelled one counts as the nearest. */
export function chooseDocument(value: unknown): z.ZodType<ManifestDocument> | SchemaProblem {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return notAMapping;
  const keys = Object.keys(value);
  const [kind, other] = kinds.filter((each) => keys.includes(each));
  if (other !== undefined) return mixed(other);
  const meant = kind ?? kinds.find((each) => keys.some((key) => nearest(key, kinds) === each));
  return meant === undefined ? draftDocument : documents[meant];
}

const notAMapping: SchemaProblem = {
  code: "not-a-mapping",
  message: "A document of a manifest must be a mapping that starts with draft:, duplicates: or defaults:",
  hint: "Write draft: and the draft's id, then product_files: and the rest under it.",
};

function mixed(key: string): SchemaProblem {
  return {
    code: "mixed-document",
    message: "A document is one of a draft, a list of duplicates, and defaults",
    hint: `Put ${key}: into a document of its own, after a line with ---.`,
    key,
  };
}

const documents = { draft: draftDocument, duplicates: duplicatesDocument, defaults: defaultsDocument };

/**
 * The JSON Schema of one document of a manifest, made from the schema that validates manifests. It is of draft-07,
 * the newest draft that yaml-language-server and the editors built on it support without exceptions. What JSON
 * Schema cannot say (a file named twice, a source that does not exist) is left to `validate`.
 */
export function manifestJsonSchema(): object {
  return z.toJSONSchema(manifestDocument, { target: "draft-7", io: "input" });
}
