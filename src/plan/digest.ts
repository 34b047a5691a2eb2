import { createHash } from "node:crypto";

/**
 * JSON with the members of every object sorted by name and no white space, so that equal values have equal bytes
 * (the idea of RFC 8785, for values that hold only safe integers, strings, booleans, null, arrays and objects).
 * A member whose value is `undefined` is left out.
 */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value !== "object") return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`);
  return `{${members.join(",")}}`;
}

/** SHA-256, in lower-case hex, of a value's {@link canonicalJson}. */
export function digestOf(value: unknown): string {
  return createHash("sha256").update(canonicalJson(value)).digest("hex");
}
