import type { CallFailure, CallResult } from "../model/outcome.ts";
import type {
  DraftService,
  ObjectStorage,
  ReadOptions,
  ServiceReader,
  UploadList,
  UploadStatus,
  WriteOptions,
} from "../model/ports.ts";
import type { Attributes } from "../model/resource.ts";
import {
  anyUploadCall,
  attachCall,
  type Call,
  createUploadCall,
  credentialsCall,
  detachCall,
  duplicateCall,
  fetchProductCall,
  getProductCall,
  probeCall,
  publishCall,
  updateCall,
} from "./calls.ts";
import type { ProductDetails } from "./documents.ts";
import type { Executor } from "./executor.ts";
import { describeFailure } from "./failures.ts";
import { openObjectStorage } from "./object-storage.ts";
import { atStart, type Circumstances, openExecutor } from "./open-executor.ts";
import type { ServiceOptions } from "./options.ts";
import { otherValues } from "./other-values.ts";
import type { ServiceProfile } from "./profile.ts";
import type { UploadCredentials } from "./upload-documents.ts";
import { UploadPoller } from "./upload-poller.ts";
import { makeUploadReader } from "./upload-reader.ts";

export type { ProductDetails, Resource } from "./documents.ts";
export type { ServiceOptions } from "./options.ts";
export type { UploadCredentials } from "./upload-documents.ts";

/** The whole interface, each call within the rate bound. */
export interface Service extends DraftService, ServiceReader {
  readonly storage: ObjectStorage;
  /** Secret: for putting bytes into object storage. */
  credentials(signal: AbortSignal): Promise<CallResult<UploadCredentials>>;
  getUpload(uploadId: string, signal: AbortSignal): Promise<CallResult<UploadStatus>>;
  /** Reads lists, and singly what they lack. When a list cannot be read, none is given. */
  getUploads(uploadIds: readonly string[], signal: AbortSignal): Promise<CallResult<UploadList>>;
  /** `include` names relations; absent: those of the profile. */
  getProduct(
    productId: number,
    include: readonly string[] | undefined,
    signal: AbortSignal,
  ): Promise<CallResult<ProductDetails>>;
  /** Ends all waiting, breaks what is in flight, and frees every connection. */
  close(): Promise<void>;
}

/** Opens a service; nothing is sent yet. Throws `ServiceOptionsError` for options it cannot work with. */
export function openService(options: ServiceOptions): Service {
  return assembleService(options, atStart);
}

/** {@link openService} with its circumstances made explicit. */
export function assembleService(options: ServiceOptions, circumstances: Circumstances): Service {
  const calls = openExecutor(options, circumstances);
  const { baseUrl, executor, redactor } = calls;
  const { profile, clock, emit } = options;
  const askCredentials = async (options: ReadOptions) => {
    const result = await executor.execute(credentialsCall(profile), options);
    if (result.outcome === "done") {
      const { secretKey, sessionToken = "" } = result.value;
      for (const secret of [secretKey, sessionToken]) redactor.add(secret);
    }
    return result;
  };
  const uploads = makeUploadReader(executor, profile);
  const poller = new UploadPoller({
    readMany: profile.uploads_query === null ? undefined : uploads.getPage,
    readOne: uploads.readOne,
    pageSize: profile.uploads_page,
    firstIntervalMs: Math.min(profile.upload_poll_min, profile.upload_poll_max),
    maxIntervalMs: profile.upload_poll_max,
    deadlineMs: profile.upload_deadline,
    clock,
    emit,
  });
  const storage = openObjectStorage({
    root: options.root,
    rules: { settings: profile.storage, baseUrl },
    connections: options,
    timeoutMs: options.timeoutMs,
    askCredentials,
    clock,
    emit,
    redactor,
    interrupts: options.interrupts,
  });

  const check = new ServiceCheck(executor, profile);
  const send = <T>(call: Call<T>, productId: number | undefined, write: WriteOptions) =>
    check.send({ request: `${call.method} ${call.path}`, productId }, write, () =>
      executor.execute(call, write),
    );

  const sendFile = async (call: Call<Attributes>, sent: Attributes, write: WriteOptions) => {
    const result = await executor.execute(call, write);
    const values = result.outcome === "done" ? otherValues(sent, result.value) : [];
    if (values.length > 0 && write.address !== undefined)
      emit({ type: "values_differ", at: clock.now(), address: write.address, values: [...values] });
    return result;
  };

  return {
    storage,
    attach: (target, attributes, write) =>
      sendFile(attachCall(target, attributes, profile), attributes, write),
    update: (target, attributes, write) =>
      sendFile(updateCall(target, attributes, profile), attributes, write),
    detach: (target, write) => executor.execute(detachCall(target, profile), write),
    publish: (draftId, write) => send(publishCall(draftId, profile, write.claim), write.productId, write),
    duplicate: (productId, write) => send(duplicateCall(productId, profile, write.claim), productId, write),
    createUpload: (uploadKey, write) =>
      executor.execute(createUploadCall(uploadKey, profile, write.claim), write),
    expectUpload: () => poller.expect(),
    awaitUpload: (uploadId, signal, budget) => poller.wait(uploadId, { signal, budget }),
    probe: (target, read) => executor.execute(probeCall(target, profile), read),
    fetchProduct: ({ productId, draftId }, read) =>
      executor.execute(fetchProductCall(productId, profile, draftId), read),
    fetchUploads: uploads.getUploads,
    uploadsPerCall: uploads.pageSize,
    callCount: () => executor.callCount,
    hasResponded: () => executor.hasResponded,
    credentials: (signal) => askCredentials({ signal }),
    getUpload: uploads.getUpload,
    getUploads: (uploadIds, signal) => uploads.getUploads(uploadIds, { signal }),
    getProduct: (productId, include, signal) =>
      executor.execute(getProductCall(productId, include ?? profile.product_include, profile), { signal }),
    async close() {
      poller.close();
      storage.close();
      await calls.close();
    },
  };
}

/** A call that must not be sent to anything but the service, and the product it concerns, if one is known. */
interface CheckedCall {
  /** As in an HTTP trace: method and path. */
  readonly request: string;
  readonly productId: number | undefined;
}

/** Failures of the read that have a cause of their own: it was not sent, or the service may respond to other calls. */
const ownCauses: ReadonlySet<string> = new Set([
  "aborted",
  "call-budget-exhausted",
  "server-error",
  "timeout",
  "connection-reset",
]);

/**
 * Before the first publish or duplicate the service must have returned a JSON:API document: a portal, proxy or wrong
 * address that answers a publish would leave it in doubt. Without one, something is read first, once for all callers.
 */
class ServiceCheck {
  readonly #executor: Executor;
  readonly #profile: ServiceProfile;
  #reading: Promise<CallResult<unknown>> | undefined;

  constructor(executor: Executor, profile: ServiceProfile) {
    this.#executor = executor;
    this.#profile = profile;
  }

  /** Sends a call once the service is known to answer; otherwise ends it `not_sent`. */
  async send<T>(
    call: CheckedCall,
    { signal, budget }: ReadOptions,
    send: () => Promise<CallResult<T>>,
  ): Promise<CallResult<T>> {
    while (!this.#executor.hasResponded) {
      const others = this.#reading;
      const read = await (others ?? this.#begin(call.productId, { signal, budget }));
      if (read.outcome === "done") break;
      const { failure } = read;
      // The caller that started the read was stopped; this one was not, and reads again.
      if (others !== undefined && failure.code === "aborted" && !signal.aborted) continue;
      if (this.#executor.hasResponded && failure.stops !== "run") break;
      return { outcome: "not_sent", failure: failureOf(call, failure), attempts: 0 };
    }
    return send();
  }

  #begin(productId: number | undefined, options: ReadOptions): Promise<CallResult<unknown>> {
    this.#reading = this.#read(productId, options).finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  /** Something that concerns no draft comes first: a product that cannot be read must not stop the publishes of the others. */
  async #read(productId: number | undefined, options: ReadOptions): Promise<CallResult<unknown>> {
    const read = await this.#executor.execute(anyUploadCall(this.#profile), options);
    const isOver = read.outcome === "done" || read.failure.stops === "run" || read.failure.code === "aborted";
    if (isOver || productId === undefined || this.#executor.hasResponded) return read;
    return this.#executor.execute(fetchProductCall(productId, this.#profile), options);
  }
}

/** A failure that has its own cause keeps its code and hint; anything that answered and is not the service gets one. */
function failureOf({ request }: CheckedCall, read: CallFailure): CallFailure {
  if (read.code === "aborted" || read.code === "call-budget-exhausted") return read;
  if (read.stops === "run" || ownCauses.has(read.code)) {
    const { subject: _subject, hint = "Run the command again.", ...rest } = read;
    return { ...rest, message: `not sent, because the check before it failed: ${read.message}`, hint };
  }
  return describeFailure({ code: "service-not-confirmed", request, stops: "run", detail: read.message });
}
