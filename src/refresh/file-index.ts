import type { Recorded, RecordedAttachment, RecordedOperation } from "../model/recorded.ts";
import type { FileTarget } from "../model/resource.ts";
import { fileResource } from "../model/resource.ts";

/** Recorded files by their paths at the service. */
export interface FileIndex {
  readonly records: ReadonlyMap<string, RecordedAttachment>;
  readonly doubts: ReadonlyMap<string, readonly RecordedOperation[]>;
}

/** Indexes the files of a ledger; linear in its size. */
export function indexFiles(recorded: Recorded): FileIndex {
  const doubts = new Map<string, RecordedOperation[]>();
  for (const operation of recorded.inDoubt) {
    const target = targetOf(operation);
    if (target === undefined) continue;
    const resource = fileResource(target);
    const known = doubts.get(resource);
    if (known === undefined) doubts.set(resource, [operation]);
    else known.push(operation);
  }
  return {
    records: new Map(recorded.attachments.map((attachment) => [fileResource(attachment), attachment])),
    doubts,
  };
}

/** The file of an operation; `undefined` for an operation without a file. */
export function targetOf({ intent }: RecordedOperation): FileTarget | undefined {
  const { draftId, fileKind: kind, fileId } = intent;
  if (draftId === undefined || kind === undefined || fileId === undefined) return undefined;
  return { draftId, kind, fileId };
}
