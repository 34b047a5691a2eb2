import type { Attributes, FileKind } from "../model/resource.ts";
import { pickAttributes } from "../model/resource.ts";

/**
 * What is known of a file once a probe has told it. An empty text of an attribute that was not known says nothing: a
 * service may tell so what was never set.
 */
export function mergeTold(kind: FileKind, known: Attributes, told: Attributes): Attributes {
  const names = new Set(Object.keys(known));
  const news = Object.entries(told).filter(([name, value]) => value !== "" || names.has(name));
  return pickAttributes(kind, { ...known, ...Object.fromEntries(news) });
}
