import { statSync } from "node:fs";
import { join } from "node:path";
import { formatAddress, publicationAddress } from "../model/address.ts";
import { findFiles } from "./find-files.ts";
import { parseManifests } from "./parse-manifests.ts";
import type { ParsedManifest } from "./parsed-manifest.ts";

/** What {@link listAddresses} needs. */
export interface ListAddressesOptions {
  /** The absolute workspace folder. */
  readonly root: string;
  readonly patterns: readonly string[];
  /** Stops before the next manifest after this many bytes. */
  readonly maxBytes: number;
}

/** Addresses in the valid parts of the first manifests: for completion of a command line, never for a plan. */
export async function listAddresses(options: ListAddressesOptions): Promise<readonly string[]> {
  const { root, patterns, maxBytes } = options;
  const { files } = await findFiles(root, patterns);
  const manifests = await parseManifests({ root }, leadingFiles(root, files, maxBytes));
  return manifests.flatMap(({ parsed }) => addressesOf(parsed));
}

/** The first files, until their sizes add up to at least `maxBytes`. */
function leadingFiles(root: string, files: readonly string[], maxBytes: number): readonly string[] {
  let bytes = 0;
  const end = files.findIndex((file) => {
    const isEnough = bytes >= maxBytes;
    bytes += statSync(join(root, file), { throwIfNoEntry: false })?.size ?? 0;
    return isEnough;
  });
  return end < 0 ? files : files.slice(0, end);
}

function addressesOf({ drafts, duplicates }: ParsedManifest): readonly string[] {
  return [
    ...drafts.flatMap(({ draftId, attachments, publish }) => [
      `drafts/${draftId}`,
      ...attachments.map(({ kind, ref }) => formatAddress({ type: "attachment", draftId, kind, ref })),
      ...(publish === undefined ? [] : [publicationAddress(draftId)]),
    ]),
    ...duplicates.map(({ duplicate }) => formatAddress({ type: "duplicate", name: duplicate.name })),
  ];
}
