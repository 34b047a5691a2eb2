import type { z } from "zod";
import type { ManifestDocument } from "./manifest-schema.ts";
import { defaultsDocument, draftDocument, duplicatesDocument } from "./manifest-schema.ts";
import { nearest } from "./nearest.ts";
import type { SchemaProblem } from "./read-yaml.ts";

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
