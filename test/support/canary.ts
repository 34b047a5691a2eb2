import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";

/** The prefix of the API key in every test of the binary or of combined parts. */
const canary = "canary-key";

/** The prefix in every readable form: plain, percent-encoded, hex, and Base64 at each alignment. */
const forms: readonly string[] = [
  canary,
  [...canary].map((letter) => `%${letter.charCodeAt(0).toString(16)}`).join(""),
  Buffer.from(canary).toString("hex"),
  Buffer.from(canary).toString("hex").toUpperCase(),
  ...[0, 1, 2].map((shift) => {
    const encoded = Buffer.from("\0".repeat(shift) + canary).toString("base64");
    // The first and the last letters depend on the characters next to the key.
    return encoded.slice([0, 2, 3][shift], -4);
  }),
];

/** Throws when the content has the key. `where` names the content. */
export function expectNoKey(content: string | Uint8Array, where: string): void {
  const bytes = Buffer.from(content);
  const form = forms.find((each) => bytes.includes(each));
  if (form !== undefined) throw new Error(`the key is in ${where}, as ${form}`);
}

/** {@link expectNoKey} for every file below `folder` except those that the test wrote. */
export async function expectNoKeyBelow(folder: string, written: ReadonlySet<string>): Promise<void> {
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (!entry.isFile() || written.has(relative(folder, path))) continue;
    // A database may remove its files during the search.
    const content = await readFile(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return "";
      throw error;
    });
    expectNoKey(content, path);
  }
}
