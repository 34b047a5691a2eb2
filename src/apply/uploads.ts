import { formatAddress } from "../model/address.ts";
import type { AttachmentState } from "../model/change.ts";
import type { CallFailure, CallResult } from "../model/outcome.ts";
import type { LedgerEffect, UploadStatus } from "../model/ports.ts";
import type { RecordedUpload } from "../model/recorded.ts";
import { otherObjectFailure, uploadEndEffects } from "../model/upload-name.ts";
import { makeUploadClaim } from "./claims.ts";
import type { ApplyContext } from "./context.ts";
import { runOperation } from "./operation.ts";
import type { OperationBudget } from "./run-budget.ts";

/** A file id, or why there is none. An upload that failed leaves nothing in doubt: nothing was attached. */
export type UploadEnd =
  | { readonly outcome: "done"; readonly fileId: number }
  | {
      readonly outcome: "rejected" | "not_sent";
      readonly failure: CallFailure;
      /** Something was sent for it in this run. */
      readonly isBegun: boolean;
    };

/** Turns sources, upload keys and upload ids into file ids. */
export interface Uploads {
  /** What several changes share is uploaded once, and all of them get its end. `whileIdle` runs while it is processed. */
  fileIdFor(after: AttachmentState, whileIdle: ApplyContext["whileIdle"]): Promise<UploadEnd>;
}

/**
 * ```
 *   source ──► bytes into storage ─┐
 *   upload_key ────────────────────┴─► register ─┐
 *   upload_id ───────────────────────────────────┴─► poll until it has ended ──► file id
 * ```
 *
 * Every step is recorded, so that a later run continues there: a source whose bytes are stored has its
 * key in the next plan. A kill before that was recorded puts the bytes under the same key again.
 */
export function makeUploads(context: ApplyContext): Uploads {
  const started = new Map<string, Promise<UploadEnd>>();
  return {
    fileIdFor: (after, whileIdle) => {
      const name = nameOf(after);
      const known = started.get(name);
      if (known !== undefined) return whileIdle(() => known);
      const end = upload({ ...context, whileIdle }, after);
      started.set(name, end);
      return end;
    },
  };
}

function nameOf({ upload_id, upload_key, source, sha256 }: AttachmentState): string {
  if (upload_id !== undefined) return `upload_id:${upload_id}`;
  return upload_key === undefined ? `source:${sha256}:${source}` : `upload_key:${upload_key}`;
}

async function upload(context: ApplyContext, after: AttachmentState): Promise<UploadEnd> {
  const arrived = context.service.expectUpload();
  const isOurs = after.source !== undefined || after.upload_key !== undefined;
  const awaitEnd = (uploadId: string, registeredAt?: number) => {
    const end = awaitUpload(context, { uploadId, isOurs, registeredAt, sha256: after.sha256 });
    arrived();
    return end;
  };
  try {
    if (after.upload_id !== undefined) {
      const { registered } = await context.holders();
      return await awaitEnd(after.upload_id, registered.get(after.upload_id)?.at);
    }
    const budget = context.budget?.operation();
    const key = after.upload_key ?? (await store(context, after, budget));
    if (typeof key !== "string") return key;
    const registered = await register(context, after, { key, budget });
    if (registered.outcome !== "done") {
      const end = withoutDoubt(registered);
      return after.upload_key === undefined ? begun(end) : end;
    }
    const status = registered.value;
    return status.status === "pending" ? begun(await awaitEnd(status.uploadId)) : ended(status);
  } finally {
    // A second call changes nothing.
    arrived();
  }
}

/** Stores no bytes that this run cannot register: until the next one, they might expire. */
async function store(
  context: ApplyContext,
  { source, sha256, size }: AttachmentState,
  registration: OperationBudget | undefined,
): Promise<string | UploadEnd> {
  if (source === undefined || sha256 === undefined || size === undefined) {
    throw new TypeError("an attachment without a file id names an upload, a key or a source");
  }
  const file = { source, sha256, size };
  const { signal, budget } = context;
  const put = await context.storage.put(file, {
    signal,
    budget: budget?.beforeOperation,
    reserve: () => registration?.reserve() !== false,
  });
  if (put.outcome !== "done") return withoutDoubt(put);
  const { uploadKey } = put.value;
  await recordAnswer(context, [{ type: "object_stored", uploadKey, ...file, at: context.clock.now() }]);
  return uploadKey;
}

async function register(
  context: ApplyContext,
  { source, sha256, size }: AttachmentState,
  { key, budget }: { readonly key: string; readonly budget: OperationBudget | undefined },
) {
  const content =
    source === undefined || sha256 === undefined || size === undefined ? {} : { source, sha256, size };
  const address =
    source === undefined ? `uploads/upload_key:${key}` : formatAddress({ type: "upload", source });
  const claim = makeUploadClaim({ key, sha256 }, await context.holders());
  return runOperation<UploadStatus>(context, {
    address,
    kind: "upload",
    intent: { uploadKey: key, ...(sha256 === undefined ? {} : { sha256 }) },
    budget,
    call: (options) => context.service.createUpload(key, { ...options, claim }),
    effects: (answer) => {
      if (answer.outcome === "done") {
        return registrationEffects(answer.value, { key, content, at: context.clock.now() });
      }
      return refusesObject(answer) ? [{ type: "object_forgotten", uploadKey: key }] : [];
    },
  });
}

/** The object may have expired, or its key may not be one of the service's any more: the next run uploads the bytes again. */
function refusesObject({ outcome, failure }: Exclude<CallResult<unknown>, { outcome: "done" }>): boolean {
  return outcome === "rejected" && failure.stops === "operation" && failure.code !== "rate-limited";
}

/** Binds the ledger first: a different service may have an upload with the same id. */
async function recordAnswer(
  { bind, ledger }: Pick<ApplyContext, "bind" | "ledger">,
  effects: readonly LedgerEffect[],
): Promise<void> {
  await bind();
  await ledger.record(effects);
}

interface AwaitedUpload {
  readonly uploadId: string;
  /** A run registered it, so once the service does not know it any more, the next run registers it again. */
  readonly isOurs: boolean;
  /** By an earlier run, or seen by one, epoch milliseconds. */
  readonly registeredAt: number | undefined;
  /** Of a local file. */
  readonly sha256: string | undefined;
}

const registersAgainHint = "Run the command again: it registers the file again.";

async function awaitUpload(context: ApplyContext, upload: AwaitedUpload): Promise<UploadEnd> {
  const { uploadId, isOurs, sha256 } = upload;
  const awaited = await waitIdly(context, upload);
  /** The id leads nowhere: only another registration can help. */
  const registerAgain = async (failure: CallFailure, hint = registersAgainHint): Promise<UploadEnd> => {
    if (!isOurs) return { outcome: "rejected", failure, isBegun: true };
    await context.ledger.record([{ type: "upload_ended", uploadId, status: "failed" }]);
    return { outcome: "rejected", failure: { ...failure, hint }, isBegun: true };
  };
  if (awaited.outcome === "done") {
    const { uploads, digests } = await context.holders();
    const own = { uploadKey: uploads.get(uploadId), sha256 };
    const failure = otherObjectFailure(awaited.value, own, digests);
    if (failure !== undefined) return registerAgain(failure, failure.hint);
    const effects = isOurs ? uploadEndEffects(awaited.value) : foundEffects(context, awaited.value);
    await recordAnswer(context, effects);
    return ended(awaited.value);
  }
  const end = withoutDoubt(awaited);
  return end.outcome !== "done" && end.failure.code === "gone" ? registerAgain(end.failure) : end;
}

/** Gives its place away meanwhile; in a limited run once the upload was read, so that others do not use up the run before. */
async function waitIdly(
  context: ApplyContext,
  { uploadId, registeredAt, isOurs }: AwaitedUpload,
): Promise<CallResult<UploadStatus>> {
  const { service, signal, budget, whileIdle } = context;
  let idle: Promise<unknown> | undefined;
  let seenAt: number | undefined;
  const awaited = service.awaitUpload(uploadId, {
    // The upload is recorded: the next run continues to wait for it.
    signal: budget === undefined ? signal : AbortSignal.any([signal, budget.signal]),
    budget,
    registeredAgoMs: registeredAt === undefined ? undefined : context.clock.now() - registeredAt,
    onPending: () => {
      seenAt ??= context.clock.now();
      idle ??= whileIdle(() => awaited);
    },
  });
  if (budget === undefined) idle = whileIdle(() => awaited);
  const result = await awaited;
  await idle;
  // Its deadline counts from the first run that has seen it.
  if (seenAt !== undefined && registeredAt === undefined && !isOurs && result.outcome !== "done")
    await recordAnswer(context, [{ type: "upload_found", uploadId, status: "pending", at: seenAt }]);
  return result;
}

/** What an upload was registered with. `content` is absent for an object that was in storage before. */
export interface Registered {
  readonly key: string;
  readonly content: { readonly source?: string; readonly sha256?: string; readonly size?: number };
  /** Epoch milliseconds. */
  readonly at: number;
}

/** What the ledger takes from the answer to a registration, which may tell the upload's end already. */
export function registrationEffects(status: UploadStatus, { key, content, at }: Registered): LedgerEffect[] {
  const { uploadId } = status;
  return [
    { type: "upload_registered", uploadId, uploadKey: key, ...content, at },
    ...uploadEndEffects(status),
  ];
}

/** Of an upload that a manifest names by its id: recorded, so that a run with a budget does not read it again. */
function foundEffects({ clock }: ApplyContext, upload: UploadStatus): LedgerEffect[] {
  return uploadEndEffects(upload).map((effect) =>
    effect.type === "upload_ended" ? { ...effect, type: "upload_found", at: clock.now() } : effect,
  );
}

/** What the ledger takes when a local file was renamed: its upload goes with it, so that the bytes are never uploaded again. */
export function renamedUploadEffects(
  { source, sha256 }: AttachmentState,
  fileId: number,
  registered: Iterable<RecordedUpload>,
): LedgerEffect[] {
  const upload = [...registered].find(
    (each) => each.status === "success" && each.fileId === fileId && each.sha256 === sha256,
  );
  const { uploadKey: key, size, source: former, at = 0 } = upload ?? {};
  if (upload === undefined || key === undefined || former === undefined || source === undefined) return [];
  const content = {
    source,
    ...(sha256 === undefined ? {} : { sha256 }),
    ...(size === undefined ? {} : { size }),
  };
  return registrationEffects({ ...upload, rawStatus: upload.status }, { key, content, at });
}

function ended({ uploadId, status, rawStatus, message, fileId }: UploadStatus): UploadEnd {
  if (status === "success" && fileId !== undefined) return { outcome: "done", fileId };
  return {
    outcome: "rejected",
    failure: {
      code: "upload-failed",
      message: `upload ${uploadId}: the service could not process the file (status ${rawStatus})${message === undefined ? "" : `: ${message}`}`,
      subject: `upload ${uploadId}`,
      hint: "Check that the file opens and that the marketplace supports its format, then run apply again.",
      errors: [],
      stops: "operation",
    },
    isBegun: true,
  };
}

function begun(end: UploadEnd): UploadEnd {
  return end.outcome === "done" ? end : { ...end, isBegun: true };
}

/** Registering may be repeated and reading changes nothing, so an unknown end here is a failure, not a doubt. */
function withoutDoubt({
  outcome,
  failure,
  attempts,
}: Exclude<CallResult<unknown>, { outcome: "done" }>): UploadEnd {
  return { outcome: outcome === "unknown" ? "rejected" : outcome, failure, isBegun: attempts > 0 };
}
