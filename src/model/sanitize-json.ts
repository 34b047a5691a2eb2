/** What JSON may hold as it is and a terminal or an editor may still act on: C1 controls, bidirectional and format characters. */
const active =
  /[\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

/** Whatever may be among them; most JSON has nothing of it, and to see that takes a tenth of the time. */
const suspicious = /[^\t\n -~]/;

/**
 * JSON whose text takes no effect where it is shown: characters that terminals and editors act on are written as
 * `\uXXXX`, which every parser reads back as what they were.
 */
export function sanitizeJson(value: unknown, indent?: number): string {
  const json = JSON.stringify(value, null, indent);
  if (!suspicious.test(json)) return json;
  return json.replace(active, (char) =>
    Array.from(
      { length: char.length },
      (_none, at) => `\\u${char.charCodeAt(at).toString(16).padStart(4, "0")}`,
    ).join(""),
  );
}
