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

/** A manifest, and the digest of the bytes that its kept page was made from. */
export interface KeptFile {
  readonly file: string;
  readonly digest: string;
}

/** Whether a manifest still has the bytes that its page was made from. Runs on any thread. */
export function isAsKept(root: string, { file, digest }: KeptFile): boolean {
  const read = readManifest(root, file);
  return read.ok && digestOf(read.bytes) === digest;
}
