import type { Diagnostic } from "../model/diagnostic.ts";
import { digestOf, type StoredPage } from "./page-cache.ts";
import { encodePage } from "./page-codec.ts";
import { readManifest } from "./read-manifest.ts";
import { readPage } from "./read-page.ts";

/** The page of a manifest, or why there is none. */
export type MadePage = StoredPage | { readonly diagnostic: Diagnostic };

/** Reads a manifest and makes its page. Runs on any thread. */
export function makePage(root: string, file: string): MadePage {
  const read = readManifest(root, file);
  if (!read.ok) return { diagnostic: read.diagnostic };
  return { digest: digestOf(read.bytes), encoded: Buffer.from(encodePage(readPage(file, read.bytes))) };
}
