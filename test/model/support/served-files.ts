import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Desired } from "../../../src/model/desired.ts";
import type { Attributes } from "../../../src/model/resource.ts";
import type { SandboxState } from "../../../src/sandbox/state.ts";

type Product = SandboxState["products"][number];

/** A file of a draft or of a product at the service. */
interface ServedFile {
  readonly fileId: number;
  readonly attributes: Attributes;
}

/** What the service has, beside the manifests that it was made from. */
export interface Comparison {
  readonly desired: Desired;
  readonly state: SandboxState;
  /** Files that were changed outside draftsync, by `drafts/1/product_files/11`. */
  readonly drifted: ReadonlySet<string>;
  /** The service was checked first, so their values are compared as well. */
  readonly isProbed: boolean;
}

/** The sources of the manifests, and what the service made of them. */
export class ServedFiles {
  readonly #root: string;
  /** MD5 digests, as the storage has them, by SHA-256 digest. */
  readonly #md5 = new Map<string, string>();

  constructor(root: string) {
    this.#root = root;
  }

  writeSource(source: string, content: string) {
    writeFileSync(join(this.#root, source), content);
    const digest = (name: string) => createHash(name).update(content).digest("hex");
    this.#md5.set(digest("sha256"), digest("md5"));
    return { sha256: digest("sha256"), size: Buffer.byteLength(content) };
  }

  /** How a product of a draft differs from the manifests. */
  ofProduct({ draftId, duplicateOf, files }: Product, comparison: Comparison): string[] {
    if (draftId === null || duplicateOf !== null) return [];
    const differences = this.#differences(draftId, files, comparison);
    return differences.map((difference) => `product of draft ${draftId}: ${difference}`);
  }

  /** How drafts differ from the manifests. */
  ofDrafts(comparison: Comparison): string[] {
    const { desired, state } = comparison;
    return desired.drafts.flatMap(({ draftId }) => {
      const files = state.attachments.filter((each) => each.draftId === draftId);
      const differences = this.#differences(draftId, files, comparison);
      return differences.map((difference) => `draft ${draftId}: ${difference}`);
    });
  }

  #differences(
    draftId: number,
    files: readonly ServedFile[],
    { desired, state, drifted, isProbed }: Comparison,
  ): string[] {
    const isDrifted = (fileId: number) => drifted.has(`drafts/${draftId}/product_files/${fileId}`);
    const isUnknown = (fileId: number) => !isProbed && isDrifted(fileId);
    const left = new Map(files.map((file) => [file.fileId, file]));
    const draft = desired.drafts.find((each) => each.draftId === draftId);
    const missing = (draft?.attachments ?? []).flatMap(({ address: { ref }, attributes, content }) => {
      const digest = this.#md5.get(content?.sha256 ?? "");
      const isMeant = ({ fileId }: ServedFile) =>
        ref.by === "file_id" ? fileId === ref.fileId : contentOf(fileId, state) === digest;
      const file = [...left.values()].find(isMeant);
      if (file === undefined)
        return ref.by === "file_id" && isUnknown(ref.fileId) ? [] : [`${JSON.stringify(ref)} is missing`];
      left.delete(file.fileId);
      const served = new Map(Object.entries(file.attributes));
      const differs = Object.entries(attributes).some(([name, value]) => served.get(name) !== value);
      return differs && !isUnknown(file.fileId) ? [`${file.fileId} has other values`] : [];
    });
    // No call lists the files that were attached outside draftsync.
    const extra = [...left.keys()].filter((fileId) => !isDrifted(fileId));
    return [...missing, ...extra.map((fileId) => `${fileId} is extra`)];
  }
}

/** The MD5 digest of an uploaded file. */
function contentOf(fileId: number, { uploads, objects }: SandboxState): string | undefined {
  const upload = uploads.find((each) => each.fileId === fileId);
  return objects.find(({ key }) => key === upload?.uploadKey)?.etag;
}
