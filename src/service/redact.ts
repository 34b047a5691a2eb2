/** Takes a secret out of text and of parsed JSON, wherever a server may have echoed it. */
export interface Redactor {
  /** Another secret. A short one is taken out of texts only: it may be a word that values of JSON contain. */
  add(secret: string): void;
  text(text: string): string;
  /** The value that JSON text was parsed to, with every string, and every key, redacted. */
  json(value: unknown, text: string): unknown;
}

/** What a secret is replaced with. */
export const placeholder = "[redacted]";

/** No word is as long; secret keys of storages have 40 characters. */
const minRandomLength = 20;

/** Shorter texts are no secrets, and taking them out would garble every message. */
const minSecretLength = 4;

/** Parts of Base64 text are taken out only of longer secrets: those of a short one are words. */
const minEncodedLength = 8;

/**
 * Makes a {@link Redactor} for one secret, in the forms in which it could be read back: each character as it is or escaped for
 * a URL, HTML, JSON or mail; and Base64, also of a text that contains it, and hex.
 */
export function makeRedactor(secret: string): Redactor {
  const forms = formsOf(secret);
  const others: RegExp[] = [];
  const without = (input: string, secrets: readonly RegExp[]): string =>
    secrets.reduce((redacted, form) => redacted.replace(form, placeholder), input);
  const copy = (value: unknown): unknown => {
    if (typeof value === "string") return without(value, forms);
    if (Array.isArray(value)) return value.map(copy);
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => [without(key, forms), copy(member)]),
    );
  };
  // Without escapes the text of JSON contains every string unchanged, so searching the text is enough.
  const isClean = (json: string) => !json.includes("\\") && without(json, forms) === json;
  return {
    add: (other) => {
      const known = other.length < minRandomLength ? others : forms;
      known.push(...formsOf(other).filter(({ source }) => !known.some((form) => form.source === source)));
    },
    text: (input) => without(input, [...forms, ...others]),
    json: (value, json) => (isClean(json) ? value : copy(value)),
  };
}

function formsOf(secret: string): RegExp[] {
  if (secret.length < minSecretLength) return [];
  const bytes = Buffer.from(secret);
  const forms = [
    [...secret].map(spellings).join(""),
    ...[bytes.toString("base64"), bytes.toString("base64url")].map(escaped),
    anyCase(bytes.toString("hex")),
    ...(bytes.length < minEncodedLength ? [] : [0, 1, 2].flatMap((shift) => base64Within(bytes, shift))),
  ];
  return [...new Set(forms)].map((form) => new RegExp(form, "gu"));
}

const entities: ReadonlyMap<string, string> = new Map([
  ["&", "amp"],
  ["<", "lt"],
  [">", "gt"],
  ['"', "quot"],
  ["'", "apos"],
  ["/", "sol"],
  ["+", "plus"],
  ["=", "equals"],
]);

/** A pattern of the ways in which one character is written. */
function spellings(char: string): string {
  const point = char.codePointAt(0) ?? 0;
  const hex = point.toString(16);
  const encoded = [...Buffer.from(char)].map((byte) => byte.toString(16).padStart(2, "0"));
  const entity = entities.get(char);
  const ways = [
    escaped(char),
    encoded.map((byte) => `%${anyCase(byte)}`).join(""),
    encoded.map((byte) => `=${anyCase(byte)}`).join(""),
    `&#0*${point};`,
    `&#[xX]0*${anyCase(hex)};`,
    `\\\\u${anyCase(hex.padStart(4, "0"))}`,
    ...(char === "/" ? ["\\\\/"] : []),
    ...(entity === undefined ? [] : [`&${entity};`]),
  ];
  return `(?:${ways.join("|")})`;
}

/** What Base64 of a longer text has of these bytes when so many others come before them, but for the ends that depend on others. */
function base64Within(bytes: Buffer, shift: number): string[] {
  const encoded = Buffer.concat([Buffer.alloc(shift), bytes])
    .toString("base64")
    .replace(/=+$/, "");
  const isWhole = (shift + bytes.length) % 3 === 0;
  const inner = encoded.slice(shift === 0 ? 0 : shift + 1, isWhole ? undefined : -1);
  return [inner, inner.replaceAll("+", "-").replaceAll("/", "_")].map(escaped);
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}

function anyCase(hex: string): string {
  return hex.replace(/[a-f]/gi, (digit) => `[${digit.toLowerCase()}${digit.toUpperCase()}]`);
}
