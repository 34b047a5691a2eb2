import { append } from "../model/lists.ts";
import {
  fileResourceOf,
  type Recorded,
  type RecordedAttachment,
  type RecordedOperation,
  targetOf,
} from "../model/recorded.ts";
import { fileResource } from "../model/resource.ts";

/** Recorded files by their paths at the service. */
export interface FileIndex {
  readonly records: ReadonlyMap<string, RecordedAttachment>;
  readonly doubts: ReadonlyMap<string, readonly RecordedOperation[]>;
  /** Those that attachments in doubt replace. */
  readonly replaced: ReadonlySet<string>;
}

/** Indexes the files of a ledger; linear in its size. */
export function indexFiles(recorded: Recorded): FileIndex {
  const doubts = new Map<string, RecordedOperation[]>();
  const replaced = new Set<string>();
  for (const operation of recorded.inDoubt) {
    const file = fileResourceOf(operation);
    if (file !== undefined) append(doubts, file, operation);
    const target = targetOf(operation);
    const { replaces } = operation.intent;
    if (target !== undefined && replaces !== undefined && operation.kind === "attach")
      replaced.add(fileResource({ ...target, fileId: replaces }));
  }
  return {
    records: new Map(recorded.attachments.map((attachment) => [fileResource(attachment), attachment])),
    doubts,
    replaced,
  };
}
