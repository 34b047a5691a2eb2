import type { AttachmentChange, AttachmentState, InDoubtChange } from "../model/change.ts";
import type { LedgerEffect } from "../model/ports.ts";
import type { Confirmation, OperationIntent, RecordedAttachment } from "../model/recorded.ts";
import { type Attributes, type FileTarget, pickAttributes } from "../model/resource.ts";
import type { ApplyContext } from "./context.ts";

/** The intent of a call about a file. */
export function intentOf({ draftId, kind, fileId }: FileTarget, attributes?: Attributes): OperationIntent {
  return { draftId, fileKind: kind, fileId, ...(attributes === undefined ? {} : { attributes }) };
}

/** Of a call that gives another entry's file to one; see {@link OperationIntent}. */
export function takesOverOf(takesOver: boolean | undefined): { readonly takesOver?: true } {
  return takesOver === true ? { takesOver } : {};
}

/** The intent of an update; see {@link OperationIntent} for what it has when an entry gets a file with it. */
export function updateIntent(
  target: FileTarget,
  attributes: Attributes,
  { formerAddress, takesOver, replaces }: TakenFile,
): OperationIntent {
  return {
    ...intentOf(target, attributes),
    ...(formerAddress === undefined ? {} : { formerAddress, ...replacesOf(replaces) }),
    ...takesOverOf(takesOver),
  };
}

/** How an entry gets a file that is recorded at another address; all absent for its own file. */
export interface TakenFile {
  readonly formerAddress?: string | undefined;
  /** The entry that has the file stays, and gets another one. */
  readonly takesOver?: boolean | undefined;
  readonly replaces?: number | undefined;
}

/** The next run settles only what is still desired, and detaches `replaces` as the second half of a replacement. */
export function attachIntent(
  target: FileTarget,
  {
    attributes,
    after,
    replaces,
  }: {
    readonly attributes: Attributes;
    readonly after: AttachmentState;
    readonly replaces: number | undefined;
  },
): OperationIntent {
  return {
    ...intentOf(target, attributes),
    ...digestOf(after),
    ...replacesOf(replaces),
  };
}

interface RecordInput {
  readonly change: AttachmentChange | InDoubtChange;
  readonly target: FileTarget;
  readonly by: Confirmation;
  readonly attributes: Attributes;
}

/** Of a file that a call attached, or found attached; `replaces` as in the effect. */
export function attachedEffect(
  context: Pick<ApplyContext, "clock">,
  input: RecordInput,
  replaces: number | undefined,
): LedgerEffect {
  const attachment = recordOf(context, input);
  return { type: "attached", attachment, ...replacesOf(replaces) };
}

/** The member of an effect or intent; absent for a file that takes no other's place. */
export function replacesOf(replaces: number | undefined): { readonly replaces?: number } {
  return replaces === undefined ? {} : { replaces };
}

/** What is recorded of a file after a change of it. */
export function recordOf(
  { clock }: Pick<ApplyContext, "clock">,
  { change, target, by, attributes }: RecordInput,
): RecordedAttachment {
  return {
    ...target,
    address: change.address,
    attributes: pickAttributes(target.kind, attributes),
    ...digestOf(change.after),
    provenance: { by, at: clock.now() },
  };
}

/** The digest of a state's content, where it is known. */
export function digestOf(state: AttachmentState | null): { readonly sha256?: string } {
  return state?.sha256 === undefined ? {} : { sha256: state.sha256 };
}
