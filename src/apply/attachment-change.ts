import { targetAt } from "../model/address.ts";
import type {
  AdoptChange,
  AttachmentChange,
  AttachmentState,
  CreateChange,
  DeleteChange,
  InDoubtChange,
  ReplaceChange,
  UpdateChange,
} from "../model/change.ts";
import type { CallResult } from "../model/outcome.ts";
import type { LedgerEffect } from "../model/ports.ts";
import type { Confirmation, RecordedAttachment } from "../model/recorded.ts";
import type { Attributes, FileKind, FileTarget } from "../model/resource.ts";
import {
  changedAttributes,
  clearedAttributes,
  fileResource,
  mergeAttributes,
  omitAttributes,
  pickAttributes,
  pickNamed,
} from "../model/resource.ts";
import {
  attachedEffect,
  attachIntent,
  digestOf,
  intentOf,
  recordOf,
  replacesOf,
  type TakenFile,
  takesOverOf,
  updateIntent,
} from "./attachment-records.ts";
import type { ApplyContext, ChangeEnd } from "./context.ts";
import type { OperationBudget } from "./run-budget.ts";
import type { SettleContext, UnsettledAttachment } from "./settle.ts";
import { checkAttachment, runFileOperation, settleAttachment, settleByRepeating } from "./settle.ts";
import { renamedUploadEffects } from "./uploads.ts";

/** A new file whose id is known by now. */
export interface NewFile {
  readonly change: CreateChange | ReplaceChange;
  readonly fileId: number;
  /** The recorded file of a replacement, which is detached afterwards. */
  readonly replaces: number | undefined;
  readonly signal: AbortSignal;
}

/** Attaches a file. For a replacement the recorded file stays until it is detached. */
export async function attachFile(
  context: ApplyContext,
  { change, fileId, replaces, signal }: NewFile,
): Promise<ChangeEnd> {
  const target = targetAt(change.address, fileId);
  const attributes = pickAttributes(target.kind, change.after);
  const effect = (by: Confirmation, answered: Attributes) =>
    attachedEffect(context, { change, target, by, attributes: { ...answered, ...attributes } }, replaces);
  const budget = context.budget?.operation();
  const intent = attachIntent(target, { attributes, after: change.after, replaces });
  const result = await runFileOperation(context, {
    address: change.address,
    kind: "attach",
    intent,
    signal,
    budget,
    call: (options) => context.service.attach(target, attributes, options),
    effects: (answer) => (answer.outcome === "done" ? [effect("post", answer.value)] : []),
  });
  if (result.outcome === "done") return { outcome: "done", fileId };
  const settled = await settleAttachment(context, {
    address: change.address,
    target,
    attributes,
    intent,
    effect,
    first: result,
    signal,
    budget,
  });
  if (!("failure" in settled)) return settled;
  const { failure } = settled;
  const isRefused = failure.code === "gone" || failure.code === "invalid";
  if (change.after.source === undefined || !isRefused) return { ...settled, fileId };
  const hint = `${failure.hint ?? ""} ${uploadAgainHint}`.trim();
  return { ...settled, failure: { ...failure, hint }, fileId };
}

/** Of a source whose upload gave a file that the service does not accept: the next run would name the same file. */
const uploadAgainHint =
  "If the uploaded file is not at the service any more: `draftsync state rm` with the upload's address (`draftsync state list` " +
  "shows it), and the next run uploads it again.";

const stillInDoubtHint =
  "Run the command again: it checks whether the call took effect. Or check the service, then run " +
  "`draftsync resolve ADDRESS --done`, or with `--not-done`.";

/** An attach, update or detach that an earlier run left in doubt. */
interface Doubt {
  readonly change: InDoubtChange;
  readonly after: AttachmentState;
  /** What is recorded of the file and not in doubt. */
  readonly known: RecordedAttachment | undefined;
  /** The recorded file of a replacement, which is detached afterwards. */
  readonly replaces: number | undefined;
  readonly signal: AbortSignal;
  /** Of its calls; absent without a limit. */
  readonly budget: OperationBudget | undefined;
}

/** Settles a doubt: the file is attached at the end, unless it is only checked. */
export async function settleDoubt(
  context: SettleContext,
  { change, after, known, replaces, signal, budget }: Doubt,
): Promise<ChangeEnd> {
  const target = targetAt(change.address, requireFileId(after));
  const attributes = pickAttributes(target.kind, after);
  const managed = pickNamed(attributes, change.attributes);
  const { operation_id: operationId, kind, status, detail: message } = change.before;
  const doubt: UnsettledAttachment = {
    address: change.address,
    target,
    attributes,
    managed,
    intent: {
      ...attachIntent(target, { attributes, after, replaces }),
      ...(known === undefined || known.address === change.address ? {} : { formerAddress: known.address }),
      ...takesOverOf(change.takes_over),
    },
    kind: kind === "update" || kind === "detach" ? kind : "attach",
    effect: (by, answered) => {
      // An update sets only what it names; the rest may differ from what was sent. A new attachment has no earlier values.
      const others = by === "patch" ? { ...known?.attributes, ...answered } : { ...answered, ...attributes };
      return attachedEffect(context, { change, target, by, attributes: { ...others, ...managed } }, replaces);
    },
    first: {
      outcome: "unknown",
      operationId,
      attempts: 0,
      failure: {
        code: "still-in-doubt",
        message,
        hint: stillInDoubtHint,
        // A refused detach or update says nothing of an earlier attachment.
        ...(status === undefined || kind !== "attach" ? {} : { status }),
        errors: [],
        stops: "operation",
      },
    },
    lostAt: context.startedAt,
    signal,
    budget,
  };
  const settled = await (change.check_only ? checkAttachment : settleAttachment)(context, doubt);
  return "failure" in settled ? { ...settled, fileId: target.fileId } : settled;
}

/** A change of a recorded file. */
export interface KnownFileChange<C extends AttachmentChange> {
  readonly change: C;
  /** The recorded file whose address it takes, and which another change detaches. */
  readonly replaces: number | undefined;
}

/** Changes the attributes that differ, and no others. */
export async function updateFile(
  context: ApplyContext,
  { change, replaces, signal }: KnownFileChange<UpdateChange> & { signal: AbortSignal },
): Promise<ChangeEnd> {
  const target = targetAt(change.address, requireFileId(change.before));
  const all = pickAttributes(target.kind, change.after);
  const sent = pickNamed(all, change.attributes);
  const known = pickAttributes(target.kind, change.before);
  return sendUpdate(context, {
    address: change.address,
    target,
    taken: { formerAddress: change.before.address, takesOver: change.takes_over, replaces },
    sent,
    all,
    effect: (answered, set) => {
      const attributes = { ...mergeAttributes(target.kind, known, answered), ...set };
      const record = { change, target, by: "patch", attributes } as const;
      return replaces === undefined
        ? { type: "rerecorded", attachment: recordOf(context, record) }
        : attachedEffect(context, record, replaces);
    },
    signal,
  });
}

/**
 * Gives a recorded file, which an upload turned out to be, to another entry of its list: a file that the ledger has as
 * attached is never attached again. The update also settles an earlier one, or a detach, that is in doubt.
 */
export async function takeOverFile(
  context: ApplyContext,
  attachment: RecordedAttachment & { readonly takesOver: boolean; readonly open: Attributes },
  { change, replaces, signal }: Omit<NewFile, "fileId">,
): Promise<ChangeEnd> {
  const target = targetAt(change.address, attachment.fileId);
  // The plan shows the entry as a new one: no value of the one before it is left.
  const others = clearedAttributes({ ...attachment.attributes, ...attachment.open });
  const all = pickAttributes(target.kind, { ...others, ...change.after });
  const { address: formerAddress, takesOver } = attachment;
  // However the update ends, the entry before it has lost the file, and its values with it.
  if (!takesOver && attachment.formerAddress === undefined) {
    const left = { target, address: fileResource(target), formerAddress };
    await context.ledger.record([{ type: "readdressed", ...left }], context.runId);
  }
  return sendUpdate(context, {
    address: change.address,
    target,
    taken: { formerAddress, takesOver, replaces },
    sent: all,
    all,
    effect: (answered, set) => {
      const attributes = { ...mergeAttributes(target.kind, attachment.attributes, answered), ...set };
      return attachedEffect(context, { change, target, by: "patch", attributes }, replaces);
    },
    signal,
  });
}

interface UpdateRequest {
  readonly address: string;
  readonly target: FileTarget;
  readonly taken: TakenFile;
  readonly sent: Attributes;
  /** Sent when the first call was only accepted, when the response to it does not match, or when it names other values of them. */
  readonly all: Attributes;
  /** `set`: what was sent. */
  readonly effect: (answered: Attributes, set: Attributes) => LedgerEffect;
  readonly signal: AbortSignal;
}

/** A file that is gone at the service leaves the ledger, too. */
async function sendUpdate(
  context: ApplyContext,
  { address, target, taken, sent, all, effect, signal }: UpdateRequest,
): Promise<ChangeEnd> {
  const budget = context.budget?.operation();
  const effects = (answer: CallResult<Attributes>, set: Attributes): readonly LedgerEffect[] => {
    if (answer.outcome === "done") return [effect(answer.value, set)];
    return answer.failure.code === "not-attached" ? [{ type: "detached", target }] : [];
  };
  const send = (attributes: Attributes, wasAccepted = false) =>
    runFileOperation(context, {
      address,
      kind: "update",
      intent: updateIntent(target, attributes, taken),
      signal,
      budget,
      call: (options) => context.service.update(target, attributes, { ...options, wasAccepted }),
      effects: (answer) => effects(answer, attributes),
    });
  const first = await send(sent);
  const settled = await settleByRepeating(context, { first, signal, budget }, (wasAccepted) =>
    send(all, wasAccepted),
  );
  // Changed outside draftsync: the plan took what was not sent for what is recorded.
  const others = omitAttributes(all, new Set(Object.keys(sent)));
  const values = settled.outcome === "done" ? otherValues(target.kind, others, settled.value) : [];
  const isChanged = values.length > 0;
  const result = isChanged ? await send(all) : settled;
  if (isChanged && (result.outcome === "done" || result.outcome === "unknown"))
    context.emit({ type: "values_replaced", at: context.clock.now(), address, values });
  return result.outcome === "done"
    ? { outcome: "done", fileId: target.fileId }
    : { ...result, fileId: target.fileId };
}

/** What the response has instead of declared values that were not sent. */
function otherValues(kind: FileKind, declared: Attributes, answered: Attributes) {
  const returned = mergeAttributes(kind, declared, answered);
  return changedAttributes(kind, returned, declared).map((name) => ({
    name,
    sent: String(declared[name]),
    returned: String(returned[name]),
  }));
}

/** Detaches the recorded file of a deletion or of a replacement. */
export async function detachFile(
  context: ApplyContext,
  { change, signal }: { change: DeleteChange | ReplaceChange; signal: AbortSignal },
): Promise<ChangeEnd> {
  const target = targetAt(change.address, requireFileId(change.before));
  const budget = context.budget?.operation();
  const send = () =>
    runFileOperation(context, {
      address: change.address,
      kind: "detach",
      intent: intentOf(target),
      signal,
      budget,
      call: (options) => context.service.detach(target, options),
      effects: (answer) => (answer.outcome === "done" ? [{ type: "detached", target }] : []),
    });
  const result = await settleByRepeating(context, { first: await send(), signal, budget }, send);
  return result.outcome === "done" ? { outcome: "done" } : { ...result, fileId: target.fileId };
}

/** Records an attachment under its new address; nothing is sent, and nothing is confirmed. */
export async function adoptFile(
  context: ApplyContext,
  { change, replaces }: KnownFileChange<AdoptChange>,
): Promise<ChangeEnd> {
  const target = targetAt(change.address, requireFileId(change.before));
  const { address, after } = change;
  const { registered } = await context.holders();
  await context.ledger.record(
    [
      {
        type: "readdressed",
        target,
        address,
        ...digestOf(after),
        ...replacesOf(replaces),
        ...takesOverOf(change.takes_over),
      },
      ...renamedUploadEffects(after, target.fileId, registered.values()),
    ],
    context.runId,
  );
  return { outcome: "done", fileId: target.fileId };
}

function requireFileId(state: AttachmentState): number {
  if (state.file_id === undefined) throw new TypeError("a recorded attachment has a file id");
  return state.file_id;
}
