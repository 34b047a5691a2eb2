import type { z } from "zod";
import type { ManifestDocument } from "./manifest-schema.ts";
import { draftDocument, duplicatesDocument } from "./manifest-schema.ts";
import { nearest } from "./nearest.ts";
import type { SchemaProblem } from "./read-yaml.ts";

const kinds = ["draft", "duplicates"];

/** The schema of a manifest's document, by the key that tells what it is; a misspelled one counts as meant. */
export function chooseDocument(value: unknown): z.ZodType<ManifestDocument> | SchemaProblem {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return notAMapping;
  const keys = Object.keys(value);
  if (keys.includes("draft") && keys.includes("duplicates")) return mixed;
  if (keys.includes("draft")) return draftDocument;
  const meant = keys.includes("duplicates") || keys.some((key) => nearest(key, kinds) === "duplicates");
  return meant ? duplicatesDocument : draftDocument;
}

const notAMapping: SchemaProblem = {
  code: "not-a-mapping",
  message: "A document of a manifest must be a mapping that starts with draft: or duplicates:",
  hint: "Write draft: and the draft's id, then product_files: and the rest under it.",
};

const mixed: SchemaProblem = {
  code: "mixed-document",
  message: "A document cannot be a draft and a list of duplicates at once",
  hint: "Put duplicates: into a document of its own, after a line with ---.",
  key: "duplicates",
};
