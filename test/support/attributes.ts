import fc from "fast-check";
import { z } from "zod";
import type { Attributes, FileKind } from "../../src/model/resource.ts";
import { attributeNames, attributeShape } from "../../src/model/resource.ts";

const schema = z.strictObject(attributeShape);

/** Any subset of the attributes of a collection, with any values; `text` gives those of strings. */
export function someAttributes(kind: FileKind, text: fc.Arbitrary<string>): fc.Arbitrary<Attributes> {
  const values = attributeNames[kind].map((name) => {
    const isFlag = attributeShape[name].safeParse(true).success;
    return [name, isFlag ? fc.boolean() : text] as const;
  });
  return fc.record(Object.fromEntries(values), { requiredKeys: [] }).map((some) => schema.parse(some));
}
