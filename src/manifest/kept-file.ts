import { digestOf } from "./page-cache.ts";
import { readManifest } from "./read-manifest.ts";

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
