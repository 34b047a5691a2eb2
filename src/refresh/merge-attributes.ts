import type { Attributes, FileKind } from "../model/resource.ts";
import { isSameValue, pickAttributes } from "../model/resource.ts";

/**
 * The attributes of a file after a probe. An empty text of an unknown attribute is ignored: a service may return `""` for
 * an attribute that was never set. A text that the service trimmed keeps the value that was sent.
 */
export function mergeAttributes(kind: FileKind, known: Attributes, returned: Attributes): Attributes {
  const before = new Map<string, unknown>(Object.entries(known));
  const news = Object.entries(returned).filter(([name, value]) =>
    before.has(name) ? !isSameValue(before.get(name), value) : value !== "",
  );
  return pickAttributes(kind, { ...known, ...Object.fromEntries(news) });
}
