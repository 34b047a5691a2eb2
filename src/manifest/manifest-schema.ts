import { z } from "zod";
import type { attributeNames, FileKind } from "../model/resource.ts";

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
const oneLineRule = {
  pattern: new RegExp(`^[^${unfit}]*$`),
  code: "unfit-name",
  says: "must be one line without tabs, control characters or characters that turn the reading direction",
  hint: "Write it in quotes on one line, and type it again if it was pasted.",
};

function name(description: string) {
  return ruled({ ...oneLineRule, description }, z.string().min(1));
}

function attribute(description: string) {
  return ruled({
    ...oneLineRule,
    description: `${description} One line. Left out: not managed. "": cleared.`,
  });
}

/** What a path may not start with: the root, a home folder, a drive letter or a URL's scheme. */
const notRelative = "(?![/~]|[A-Za-z][A-Za-z0-9+.-]*:)";

const source = ruled(
  {
    description:
      "A local file that is uploaded when its content changes: a path relative to this manifest, with forward slashes, inside the workspace.",
    pattern: new RegExp(`^${notRelative}[^\\\\]*$`),
    code: "source-path",
    says: "must be a path relative to the manifest, with forward slashes",
    hint: "Write it like files/dragon.blend: no backslash, no leading / or ~, no drive letter and no URL.",
  },
  name(""),
).meta({ pattern: `^${notRelative}[^\\\\${unfit}]*$` });

// z.optional is faster here than z.exactOptional, which runs the schema on absent keys, too. Both accept the same, since
// values out of YAML are never undefined.
const references = {
  file_id: z.optional(id("The id of a file that is uploaded already.")),
  upload_id: z.optional(name("The id of an upload that is registered already.")),
  upload_key: z.optional(name("The key of an object that is in the service's storage already.")),
  source: z.optional(source),
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

/** An entry of a list of files: its reference, and the attributes of its collection. */
function fileEntry<Shape extends z.core.$ZodLooseShape>(attributes: Shape, description: string) {
  return z
    .strictObject({ ...references, ...attributes })
    .refine((entry) => namedBy(entry).length > 0, {
      ...always,
      error: "{label} does not say which file it is about",
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

const productFile = fileEntry(
  {
    file_format: z.optional(attribute("The file format's id, such as `fbx`.")),
    format_version: z.optional(
      attribute('The format\'s version, in quotes when it looks like a number: `"2020"`.'),
    ),
    renderer: z.optional(attribute("The renderer's name.")),
    renderer_version: z.optional(
      attribute('The renderer\'s version, in quotes when it looks like a number: `"7.2"`.'),
    ),
    is_native: z.optional(
      z.boolean().meta({
        description:
          "true: the file is in the format the product was made in; false: it is not. Left out: not managed.",
      }),
    ),
  } satisfies SchemasOf<"product_files">,
  "A product file, named by exactly one of file_id, upload_id, upload_key and source.",
);

const promotionalFile = fileEntry(
  {
    description: z.optional(
      z.string().meta({
        description: 'The description, of any number of lines. Left out: not managed. "": cleared.',
      }),
    ),
  } satisfies SchemasOf<"promotional_files">,
  "A promotional file, named by exactly one of file_id, upload_id, upload_key and source.",
);

/** A document that says what one draft must hold. */
export const draftDocument = z
  .strictObject({
    draft: id("The draft's id, as in the address of the draft: plain decimal digits."),
    protect: z.optional(
      z.boolean().meta({
        description: "With `true`, nothing of this draft is ever deleted. The ledger keeps it too.",
      }),
    ),
    product_files: z.optional(
      z.array(productFile).meta({
        description:
          "The product files that must be attached to the draft. Left out: not managed. `[]`: none.",
      }),
    ),
    promotional_files: z.optional(
      z.array(promotionalFile).meta({
        description:
          "The promotional files that must be attached to the draft. Left out: not managed. `[]`: none.",
      }),
    ),
    publish: z.optional(
      z
        .union([
          z.boolean(),
          z.strictObject({ revision: id("Raise it to publish once more; `true` is revision 1.") }),
        ])
        .meta({
          description:
            "With `true` or `{ revision: 2 }`, a product is published once everything else of the draft is confirmed. It cannot be undone.",
        }),
    ),
  })
  .meta({ title: "Draft", description: "What one draft must hold." });

const duplicate = z
  .strictObject({
    name: name("The copy's name in the ledger, unique in the workspace."),
    product: z
      .union([
        id("The id of the product to copy."),
        z.strictObject({ draft: id("Copy the product that was published from this draft.") }),
      ])
      .meta({
        description:
          "The product to copy: its id, or `{ draft: 48213 }` for the one published from that draft.",
      }),
  })
  .meta({ description: "A copy of a product that must exist. It cannot be undone." });

/** A document that lists the copies of products that must exist. */
export const duplicatesDocument = z
  .strictObject({
    duplicates: z.array(duplicate).meta({ description: "The copies of products that must exist." }),
  })
  .meta({ title: "Duplicates", description: "Copies of products that must exist." });

/** Any document of a manifest. */
export const manifestDocument = z.union([draftDocument, duplicatesDocument]).meta({
  title: "draftsync manifest",
  description: "One document of a draftsync manifest: a draft, or a list of duplicates.",
});

/** A parsed draft document. */
export type DraftDocument = z.output<typeof draftDocument>;

/** A parsed duplicates document. */
export type DuplicatesDocument = z.output<typeof duplicatesDocument>;

/** Any parsed document. */
export type ManifestDocument = DraftDocument | DuplicatesDocument;
