import { statSync } from "node:fs";
import { join } from "node:path";
import { formatAddress, publicationAddress } from "../model/address.ts";
import { findFiles } from "./find-files.ts";
import type { Page } from "./page.ts";
import { readPages } from "./read-pages.ts";

/** What {@link listAddresses} needs. */
export interface ListAddressesOptions {
  /** The absolute workspace folder. */
  readonly root: string;
  readonly patterns: readonly string[];
  /** After this many bytes no further manifest is read. */
  readonly maxBytes: number;
}

/** Addresses that the first manifests name, as far as they can be read: to complete a command line, not to plan with. */
export async function listAddresses(options: ListAddressesOptions): Promise<readonly string[]> {
  const { root, patterns, maxBytes } = options;
  const { files } = await findFiles(root, patterns);
  const pages = await readPages({ root }, leadingFiles(root, files, maxBytes));
  return pages.flatMap((page) => ("severity" in page ? [] : addressesOf(page)));
}

/** The first files, which together have so many bytes or a few more. */
function leadingFiles(root: string, files: readonly string[], maxBytes: number): readonly string[] {
  let bytes = 0;
  const end = files.findIndex((file) => {
    const isEnough = bytes >= maxBytes;
    bytes += statSync(join(root, file), { throwIfNoEntry: false })?.size ?? 0;
    return isEnough;
  });
  return end < 0 ? files : files.slice(0, end);
}

function addressesOf({ drafts, duplicates }: Page): readonly string[] {
  return [
    ...drafts.flatMap(({ draftId, attachments, publish }) => [
      `drafts/${draftId}`,
      ...attachments.map(({ address }) => formatAddress(address)),
      ...(publish === undefined ? [] : [publicationAddress(draftId)]),
    ]),
    ...duplicates.map(({ duplicate }) => formatAddress({ type: "duplicate", name: duplicate.name })),
  ];
}
