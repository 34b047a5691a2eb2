import { append } from "../model/lists.ts";
import {
  fileResourceOf,
  type Recorded,
  type RecordedAttachment,
  type RecordedOperation,
} from "../model/recorded.ts";
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
    const file = fileResourceOf(operation);
    if (file !== undefined) append(doubts, file, operation);
  }
  return {
    records: new Map(recorded.attachments.map((attachment) => [fileResource(attachment), attachment])),
    doubts,
  };
}
