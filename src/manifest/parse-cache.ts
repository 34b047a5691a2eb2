import { hash, randomUUID } from "node:crypto";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";

/** A page as it is kept: encoded, in UTF-8, with the digest of the bytes it was made from. */
export interface StoredPage {
  readonly digest: string;
  readonly encoded: Uint8Array;
}

/** Bound to what a page means, so that no other version's is taken for one of this. Raised with every change of the rules for manifests or of the codec. */
const format = "draftsync manifest pages 2";

/** The digest that tells whether a manifest is the one that a page was made from. */
export function digestOf(bytes: Uint8Array | string): string {
  return hash("sha256", bytes, "base64url");
}

/**
 * Reads the pages of a run before, by manifest. What is not whole and of this version, or cannot be read, holds none:
 * a cache may be lost at any time.
 *
 * ```
 *   draftsync manifest pages 2 <version> <sha-256 of all that follows>
 *   <file as JSON> TAB <digest of its bytes> TAB <encoded page>
 *   …
 * ```
 */
export async function readPageCache(path: string, version: string): Promise<ReadonlyMap<string, StoredPage>> {
  const pages = new Map<string, StoredPage>();
  const bytes = await readFile(path).catch(() => Buffer.alloc(0));
  const start = bytes.indexOf("\n") + 1;
  const body = bytes.subarray(start);
  if (bytes.toString("utf8", 0, start) !== `${format} ${version} ${digestOf(body)}\n`) return pages;
  for (let at = 0; at < body.length; ) {
    const first = body.indexOf("\t", at);
    const second = body.indexOf("\t", first + 1);
    const end = body.indexOf("\n", second);
    pages.set(JSON.parse(body.toString("utf8", at, first)), {
      digest: body.toString("latin1", first + 1, second),
      encoded: body.subarray(second + 1, end),
    });
    at = end + 1;
  }
  return pages;
}

/** Keeps pages for the next run. Runs at the same time each leave a whole one; that it cannot be written is nobody's concern. */
export async function writePageCache(
  path: string,
  version: string,
  pages: ReadonlyMap<string, StoredPage>,
): Promise<void> {
  const lineEnd = Buffer.from("\n");
  const body = Buffer.concat(
    [...pages].flatMap(([file, { digest, encoded }]) => [
      Buffer.from(`${JSON.stringify(file)}\t${digest}\t`),
      encoded,
      lineEnd,
    ]),
  );
  const temporary = `${path}.${randomUUID()}`;
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const head = Buffer.from(`${format} ${version} ${digestOf(body)}\n`);
    await writeFile(temporary, [head, body], { mode: 0o600 });
    await rename(temporary, path);
  } catch {
    await rm(temporary, { force: true }).catch(() => {});
  }
}
