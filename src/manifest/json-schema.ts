import { z } from "zod";
import { manifestDocument } from "./manifest-schema.ts";

/**
 * The JSON Schema of one document of a manifest, made from the schema that validates manifests. It is of draft-07,
 * the newest draft that yaml-language-server and the editors built on it support without exceptions. What JSON
 * Schema cannot say (a file named twice, a source that does not exist) is left to `validate`.
 */
export function manifestJsonSchema(): object {
  return z.toJSONSchema(manifestDocument, { target: "draft-7", io: "input" });
}
