import type { LedgerEffect } from "./effect.ts";
import type { StoredOperation } from "./history.ts";
import type { CallFailure, CallResult } from "./outcome.ts";
import type { NewOperation, Recorded } from "./recorded.ts";
import type { LedgerOwner, OperationResult } from "./recovery.ts";
import type { Attributes, FileTarget } from "./resource.ts";

export type { LedgerEffect, LedgerOwner, NewOperation, OperationResult };

/** The two clocks. Only `monotonic` may be used for waiting and for the rate bound. */
export interface Clock {
  /** Wall clock, epoch milliseconds. */
  now(): number;
  /** Milliseconds that never go back. */
  monotonic(): number;
}

/** The machine's clocks. */
export const systemClock: Clock = { now: () => Date.now(), monotonic: () => performance.now() };

/**
 * A clock with the wall time of the ledger: what is read and recorded is compared with when calls were sent. A wall clock that is
 * set later is followed.
 */
export async function ledgerClock(ledger: { now(): Promise<number> }, clock: Clock): Promise<Clock> {
  const aheadMs = (await ledger.now()) - clock.now();
  return { monotonic: clock.monotonic, now: () => Math.round(clock.now() + aheadMs) };
}

/** The user's interrupts. The second follows the first; neither is taken back. */
export interface Interrupts {
  /** No call starts any more; those in flight are awaited. */
  readonly drain: AbortSignal;
  /** Calls in flight are aborted, and end `unknown`. */
  readonly abortInFlight: AbortSignal;
}

/**
 * Called before each time that the first byte may leave, after the call was reserved: stores the intent, and that it is sent again,
 * for which the lock must still be held. When it throws, nothing is sent: the call ends with that error the first time, and later
 * as it is.
 */
export type BeforeSend = (request: RequestLine) => Promise<void>;

/** What identifies a request in the ledger: the method that is used and the path as the document writes it (`/api/…`). */
export interface RequestLine {
  readonly method: string;
  readonly path: string;
}

/** A writing call's circumstances. */
export interface WriteOptions {
  /** The resource that the call is about, for events: the path of a POST does not name it. */
  readonly address?: string;
  readonly beforeSend: BeforeSend;
  /** Stores that the service has refused the call, which waits to be sent again. When it throws, the call ends as it is. */
  readonly onRefused?: (refused: Exclude<CallResult<never>, { outcome: "done" }>) => Promise<void>;
  /** Aborting stops waiting and keeps a call from starting; one that was sent is still awaited. */
  readonly signal: AbortSignal;
  /** As in {@link ReadOptions}. */
  readonly budget?: CallBudget | undefined;
}

/** The circumstances of a publish or duplicate. */
export interface NewProductOptions extends WriteOptions {
  /** Takes the id of a new product for the caller; the address that has it already, if another one has. */
  readonly claim?: (productId: number) => string | undefined;
}

/** The circumstances of an update. */
export interface UpdateOptions extends WriteOptions {
  /** The service returned 202 to the same update, at least its settle delay ago: with the values that were sent, another 202 proves it. */
  readonly wasAccepted?: boolean;
}

/** The circumstances of registering an upload. */
export interface RegisterOptions extends WriteOptions {
  /** Takes an upload for the caller; what has it already, if that is something else. */
  readonly claim?: (upload: UploadStatus) => string | undefined;
}

/** The circumstances of a publish. */
export interface PublishOptions extends NewProductOptions {
  /** Published from the draft before, if one was: it is read first while the service has not answered yet. */
  readonly productId?: number;
}

/** How many requests may still be dispatched. */
export interface CallBudget {
  /** Takes one request, if there is one left. Asked when the request is next in line. */
  take(): boolean;
  /** Requests that are left, as far as known; absent: any number. */
  readonly left?: number;
  /** Aborted when no call may start any more, except to repeat a call whose outcome is unknown. */
  readonly signal?: AbortSignal | undefined;
}

/** A reading call's circumstances. */
export interface ReadOptions {
  /** As in {@link WriteOptions}. */
  readonly signal: AbortSignal;
  /** Without one left, a request ends `not_sent` with the code `call-budget-exhausted`. Retries take from it too. */
  readonly budget?: CallBudget | undefined;
}

/** The circumstances of waiting for an upload. */
export interface AwaitOptions extends ReadOptions {
  /** How long ago an earlier run registered it, milliseconds: its deadline counts from then, but it is read once. */
  readonly registeredAgoMs?: number | undefined;
  /** Called each time that the upload was read and has not ended. */
  readonly onPending?: () => void;
}

/** An upload as the service returns it. */
export interface UploadStatus {
  readonly uploadId: string;
  readonly status: "pending" | "success" | "failed";
  /** The service's own word: queued, processing, success or anything else. */
  readonly rawStatus: string;
  /** Of the object; absent when the service does not return it. */
  readonly uploadKey?: string;
  readonly message?: string;
  /** Once `success`. */
  readonly fileId?: number;
}

/** Uploads that were asked for: those that were read, and those that a list lacked and that could not be read singly either. */
export interface UploadList {
  readonly uploads: readonly UploadStatus[];
  readonly missing: readonly { readonly uploadId: string; readonly failure: CallFailure }[];
}

/**
 * The calls of the interface that apply needs. No method throws for what the service or
 * the network does: that is in the result. `update` with an empty `attributes` is a probe.
 */
export interface DraftService {
  attach(target: FileTarget, attributes: Attributes, options: WriteOptions): Promise<CallResult<Attributes>>;
  update(target: FileTarget, attributes: Attributes, options: UpdateOptions): Promise<CallResult<Attributes>>;
  detach(target: FileTarget, options: WriteOptions): Promise<CallResult<undefined>>;
  /** Like `duplicate`, not sent before the service has returned a JSON:API document: without one, something is read first. */
  publish(draftId: number, options: PublishOptions): Promise<CallResult<{ readonly productId: number }>>;
  duplicate(
    productId: number,
    options: NewProductOptions,
  ): Promise<CallResult<{ readonly productId: number }>>;
  createUpload(uploadKey: string, options: RegisterOptions): Promise<CallResult<UploadStatus>>;
  /** Announces an upload that will be awaited soon, so that one read covers it too. Call the result when it is awaited. */
  expectUpload(): () => void;
  /** Polls, in batches shared with other callers, until the upload has ended or its deadline has passed. */
  awaitUpload(uploadId: string, options: AwaitOptions): Promise<CallResult<UploadStatus>>;
  /** Requests dispatched so far in this process. */
  callCount(): number;
  /** Whether the service has returned a JSON:API document in this process. */
  hasResponded(): boolean;
}

/** A product to read; `draftId`: the draft that it was published from. */
export interface FetchedProduct {
  readonly productId: number;
  readonly draftId?: number | undefined;
}

/** The calls of the interface that only look. No method throws for what the service or the network does. */
export interface ServiceReader {
  /**
   * An update that names no attribute: JSON:API 1.1 says that missing attributes keep their values, so it changes
   * nothing and returns the resource. Ends with the failure `not-attached` when the file is not attached.
   */
  probe(target: FileTarget, options: ReadOptions): Promise<CallResult<Attributes>>;
  /** Ends with the failure `gone` when there is no such product, `response-mismatch` when it belongs to a different draft. */
  fetchProduct(product: FetchedProduct, options: ReadOptions): Promise<CallResult<null>>;
  /** As many ids as fit into one call; an id that the list lacks takes a call of its own. */
  fetchUploads(uploadIds: readonly string[], options: ReadOptions): Promise<CallResult<UploadList>>;
  /** Ids that fit into one call of {@link fetchUploads}. */
  readonly uploadsPerCall: number;
}

/** A local file to be put into object storage. `source` is relative to the workspace. */
export interface StoredSource {
  readonly source: string;
  readonly sha256: string;
  readonly size: number;
}

/** The circumstances of a put: `budget` is that of the call for credentials. */
export interface PutOptions extends ReadOptions {
  /** Takes the call that registers the file, before a byte leaves; false: the put ends `call-budget-exhausted`. */
  readonly reserve?: () => boolean;
}

/** Puts local files into the storage that the service's credentials name. */
export interface ObjectStorage {
  /**
   * Ends `done` with the key only when the bytes that were sent have the planned digest. The key follows from the
   * credentials' prefix, the digest and the file's name: a repeated put replaces the object. Never throws for what the
   * file, the storage or the service does.
   */
  put(file: StoredSource, options: PutOptions): Promise<CallResult<{ readonly uploadKey: string }>>;
}

/** A run of `apply`, as the ledger keeps it. */
export interface RunRecord {
  readonly id: string;
  readonly command: string;
  readonly planId: string;
  /** By the ledger's clock, epoch milliseconds. */
  readonly startedAt: number;
}

/** How a run ended, as the ledger keeps it. */
export interface RunResult {
  readonly totals: unknown;
  readonly status: string;
  /** Of a limited run: what it began, for {@link Ledger.turns}. */
  readonly turns?: readonly string[];
}

/**
 * The state store. Every method resolves only when its change is durable (on disk, synced), and rejects with a
 * `LedgerError` otherwise. Methods may be called at the same time; the store orders and groups them.
 */
export interface Ledger {
  load(): Promise<Recorded>;
  /** When a limited run began something last, epoch milliseconds, by address: of changes, and of drafts (`drafts/1`). */
  turns(): Promise<ReadonlyMap<string, number>>;
  /**
   * Publishes, and calls about files, that ended after `since` (epoch milliseconds), or have no outcome, and of which at least one request may
   * have been lost: those of unknown outcome, and those that took several requests.
   */
  lostWrites(since: number): Promise<readonly StoredOperation[]>;
  /** Whether a call shows that the draft may be published, by another ledger or a person. */
  isMaybePublished(draftId: number): Promise<boolean>;
  /** The time by which operations and runs are dated, epoch milliseconds: of one clock for all that share the ledger. */
  now(): Promise<number>;
  /** Dates to now what a clock that was ahead has dated into the future. */
  redate(operationIds: readonly string[]): Promise<void>;
  /** Refuses with `ledger-owner-mismatch` when the ledger is bound to another service or workspace. */
  assertOwner(owner: LedgerOwner): Promise<void>;
  /**
   * Binds the ledger to a service and a workspace: for when the first response was accepted from that service, so that a
   * wrong address never binds it. Refuses as {@link Ledger.assertOwner} does. `confirmedAt` (epoch milliseconds): when a person
   * confirmed the new ledger for this service.
   */
  bind(owner: LedgerOwner, confirmedAt?: number): Promise<void>;
  startRun(run: RunRecord): Promise<void>;
  finishRun(runId: string, result: RunResult): Promise<void>;
  begin(operation: NewOperation): Promise<void>;
  /** An operation that is not done is sent again now: it has no outcome any more. */
  resend(operationId: string): Promise<void>;
  /**
   * Stores the outcome, and what follows from it, in one transaction. An outcome `done` also settles earlier updates
   * and detaches in doubt of the same file, and uploads in doubt at the same address.
   */
  finish(operationId: string, result: OperationResult, effects: readonly LedgerEffect[]): Promise<void>;
  /** A change of the ledger alone; `runId`: of the run that makes it. */
  record(effects: readonly LedgerEffect[], runId?: string): Promise<void>;
  close(): Promise<void>;
}
