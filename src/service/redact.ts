/** Takes a secret out of text and of parsed JSON, wherever a server may have echoed it. */
export interface Redactor {
  text(text: string): string;
  /** The value that JSON text was parsed to, with every string, and every key, redacted. */
  json(value: unknown, text: string): unknown;
}

const placeholder = "[redacted]";

/** Shorter texts are no secrets, and taking them out would garble every message. */
const minSecretLength = 4;

/**
 * Makes a {@link Redactor} for one secret, in the forms in which it could be read back: as it is, percent-encoded,
 * Base64 and hex.
 */
export function makeRedactor(secret: string): Redactor {
  const forms = secret.length < minSecretLength ? [] : [...formsOf(secret)];
  const text = (input: string): string =>
    forms.reduce((redacted, form) => redacted.replaceAll(form, placeholder), input);
  const copy = (value: unknown): unknown => {
    if (typeof value === "string") return text(value);
    if (Array.isArray(value)) return value.map(copy);
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [text(key), copy(member)]));
  };
  // Without escapes the text of JSON contains every string unchanged, so searching the text is enough.
  const isClean = (json: string) => !json.includes("\\") && !forms.some((form) => json.includes(form));
  return { text, json: (value, json) => (isClean(json) ? value : copy(value)) };
}

function formsOf(secret: string): ReadonlySet<string> {
  const bytes = Buffer.from(secret);
  return new Set([
    secret,
    encodeURIComponent(secret),
    bytes.toString("base64"),
    bytes.toString("base64url"),
    bytes.toString("hex"),
    bytes.toString("hex").toUpperCase(),
  ]);
}
