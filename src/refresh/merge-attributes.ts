import type { Attributes, FileKind } from "../model/resource.ts";
import { pickAttributes } from "../model/resource.ts";

/**
 * The attributes of a file after a probe. An empty text of an unknown attribute is ignored: a service may return `""` for
 * an attribute that was never set.
 */
export function mergeAttributes(kind: FileKind, known: Attributes, returned: Attributes): Attributes {
  const names = new Set(Object.keys(known));
  const news = Object.entries(returned).filter(([name, value]) => value !== "" || names.has(name));
  return pickAttributes(kind, { ...known, ...Object.fromEntries(news) });
}
