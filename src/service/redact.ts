/** Takes a secret out of text and of parsed JSON, wherever a server may have echoed it. */
export interface Redactor {
  /** Another secret. A short one is taken out of texts only: it may be a word that values of JSON contain. */
  add(secret: string): void;
  text(text: string): string;
  /** The value that JSON text was parsed to, with every string, and every key, redacted. */
  json(value: unknown, text: string): unknown;
}

const placeholder = "[redacted]";

/** No word is as long; secret keys of storages have 40 characters. */
const minRandomLength = 20;

/** Shorter texts are no secrets, and taking them out would garble every message. */
const minSecretLength = 4;

/**
 * Makes a {@link Redactor} for one secret, in the forms in which it could be read back: as it is, percent-encoded,
 * Base64 and hex.
 */
export function makeRedactor(secret: string): Redactor {
  const forms = formsOf(secret);
  const others: string[] = [];
  const without = (input: string, secrets: readonly string[]): string =>
    secrets.reduce((redacted, form) => redacted.replaceAll(form, placeholder), input);
  const copy = (value: unknown): unknown => {
    if (typeof value === "string") return without(value, forms);
    if (Array.isArray(value)) return value.map(copy);
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => [without(key, forms), copy(member)]),
    );
  };
  // Without escapes the text of JSON contains every string unchanged, so searching the text is enough.
  const isClean = (json: string) => !json.includes("\\") && !forms.some((form) => json.includes(form));
  return {
    add: (other) => {
      const known = other.length < minRandomLength ? others : forms;
      known.push(...formsOf(other).filter((form) => !known.includes(form)));
    },
    text: (input) => without(input, [...forms, ...others]),
    json: (value, json) => (isClean(json) ? value : copy(value)),
  };
}

function formsOf(secret: string): string[] {
  if (secret.length < minSecretLength) return [];
  const bytes = Buffer.from(secret);
  const forms = [
    secret,
    encodeURIComponent(secret),
    bytes.toString("base64"),
    bytes.toString("base64url"),
    bytes.toString("hex"),
    bytes.toString("hex").toUpperCase(),
  ];
  return [...new Set(forms)];
}
