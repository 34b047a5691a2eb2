import { append } from "../model/lists.ts";
import {
  fileResourceOf,
  type Recorded,
  type RecordedAttachment,
  type RecordedOperation,
} from "../model/recorded.ts";
import {
  type Attributes,
  type FileKind,
  fileResource,
  isSameValue,
  pickAttributes,
} from "../model/resource.ts";

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

/**
 * The attributes of a file after a probe. An empty text of an unknown attribute is ignored: a service may return `""` for
 * an attribute that was never set. A text that the service trimmed keeps the value that was sent.
 */
export function mergeAttributes(kind: FileKind, known: Attributes, returned: Attributes): Attributes {
  const before = new Map<string, unknown>(Object.entries(known));
  const news = Object.entries(returned).filter(([name, value]) =>
    before.has(name) ? !isSameValue(before.get(name), value) : value !== "",
  );
  return pickAttributes(kind, { ...known, ...Object.fromEntries(news) });
}
