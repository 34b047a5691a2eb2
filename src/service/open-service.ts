import type { CallFailure, CallResult } from "../model/outcome.ts";
import type {
  DraftService,
  ObjectStorage,
  PublishOptions,
  ReadOptions,
  RequestLine,
  ServiceReader,
  UploadList,
  UploadStatus,
  WriteOptions,
} from "../model/ports.ts";
import { type Attributes, clearedAttributes, isSameValue } from "../model/resource.ts";
import { onAbort } from "../model/wait.ts";
import { type Call, type Calls, makeCalls } from "./calls.ts";
import type { ProductDetails, UploadCredentials } from "./documents.ts";
import { type Circumstances, Executor } from "./executor.ts";
import { describeFailure } from "./failures.ts";
import { openObjectStorage } from "./object-storage.ts";
import { checkOptions, type ServiceOptions } from "./options.ts";
import { RateLimiter } from "./rate-limiter.ts";
import { makeRedactor, type Redactor } from "./redact.ts";
import { SlowStart } from "./slow-start.ts";
import { openTransport } from "./transport.ts";
import { makeUploadReader, UploadPoller } from "./uploads.ts";

export type { ProductDetails, Resource, UploadCredentials } from "./documents.ts";
export type { ServiceOptions } from "./options.ts";

/** The executor of one service, within its rate bound. */
export interface OpenExecutor {
  readonly baseUrl: URL;
  readonly executor: Executor;
  readonly calls: Calls;
  /** Knows the API key. */
  readonly redactor: Redactor;
  /** Ends all waiting, breaks what is in flight, and frees every connection. */
  close(): Promise<void>;
}

/** A run begins without any response. */
export const atStart: Circumstances = { random: Math.random, hasResponded: false };

/**
 * Connects transport, rate bound and executor; nothing is sent yet. Throws `ServiceOptionsError` and `ConnectionOptionsError` for
 * options it cannot work with.
 */
export function openExecutor(options: ServiceOptions, circumstances: Circumstances): OpenExecutor {
  const baseUrl = checkOptions(options);
  const { profile, clock, emit, timeoutMs, rateStore: store } = options;
  const redactor = makeRedactor(options.apiKey);
  const transport = openTransport(options, baseUrl);
  const slots = new RateLimiter({
    bound: options.rate,
    slowStart: new SlowStart(options.rate.limit),
    clock,
    maxWaitMs: profile.max_wait,
    ...(store === undefined ? {} : { reservations: { store, timeoutMs, settleMs: profile.settle_delay } }),
    onDelayed: (reason, ms) => emit({ type: "waiting", at: clock.now(), reason, ms: Math.ceil(ms) }),
    onAnnounced: ({ limit, windowMs }) =>
      emit({ type: "bound_announced", at: clock.now(), limit, window_ms: windowMs }),
  });
  const calls = makeCalls(profile);
  const anyRead = calls.anyUpload();
  const executor = new Executor({ options, transport, slots, redactor, anyRead, ...circumstances });
  const drain = options.interrupts?.drain;
  if (drain?.aborted) executor.drain();
  const stopListening = onAbort(drain, () => executor.drain());
  return {
    baseUrl,
    executor,
    calls,
    redactor,
    async close() {
      stopListening();
      executor.close();
      await transport.close();
      await slots.leave();
    },
  };
}

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
  const opened = openExecutor(options, circumstances);
  const { executor, calls, redactor } = opened;
  const { profile, clock, emit } = options;
  const askCredentials = async (read: ReadOptions) => {
    const result = await executor.execute(calls.credentials(), read);
    if (result.outcome === "done") {
      const { secretKey, sessionToken = "" } = result.value;
      for (const secret of [secretKey, sessionToken]) redactor.add(secret);
    }
    return result;
  };
  const uploads = makeUploadReader(executor, { calls, profile });
  const poller = new UploadPoller(uploads, options);
  const storage = openObjectStorage(options, { baseUrl: opened.baseUrl, askCredentials, redactor });
  const check = new ServiceCheck(executor, calls);

  const sendFile = async (call: Call<Attributes>, sent: Attributes, write: WriteOptions) => {
    const result = await executor.execute(call, write);
    const values = result.outcome === "done" ? differingValues(sent, result.value) : [];
    if (values.length > 0 && write.address !== undefined)
      emit({ type: "values_differ", at: clock.now(), address: write.address, values });
    return result;
  };

  return {
    storage,
    attach: (target, attributes, write) => sendFile(calls.attach(target, attributes), attributes, write),
    update: (target, attributes, { wasAccepted, ...write }) => {
      // A value that the second 202 leaves out is empty.
      const isProvenBy = (answered: Attributes) =>
        wasAccepted === true &&
        differingValues(attributes, { ...clearedAttributes(attributes), ...answered }).length === 0;
      return sendFile({ ...calls.update(target, attributes), isProvenBy }, attributes, write);
    },
    detach: (target, write) => executor.execute(calls.detach(target), write),
    publish: (draftId, write) => check.send(calls.publish(draftId, write.claim), write),
    duplicate: (productId, write) =>
      check.send(calls.duplicate(productId, write.claim), { ...write, productId }),
    createUpload: (uploadKey, write) => executor.execute(calls.createUpload(uploadKey, write.claim), write),
    expectUpload: () => poller.expect(),
    awaitUpload: (...request) => poller.wait(...request),
    probe: (target, read) => executor.execute(calls.probe(target), read),
    fetchProduct: ({ productId, draftId }, read) =>
      executor.execute(calls.fetchProduct(productId, draftId), read),
    fetchUploads: uploads.getUploads,
    uploadsPerCall: uploads.pageSize,
    callCount: () => executor.callCount,
    hasResponded: () => executor.hasResponded,
    credentials: (signal) => askCredentials({ signal }),
    getUpload: (uploadId, signal) => uploads.readOne(uploadId, { signal }),
    getUploads: (uploadIds, signal) => uploads.getUploads(uploadIds, { signal }),
    getProduct: (productId, include = profile.product_include, signal) =>
      executor.execute(calls.getProduct(productId, include), { signal }),
    async close() {
      poller.close();
      storage.close();
      await opened.close();
    },
  };
}

/** The values that the service changed or did not take. An attribute that it does not return is not compared. */
function differingValues(sent: Attributes, returned: Attributes) {
  const known = new Map<string, unknown>(Object.entries(returned));
  return Object.entries(sent).flatMap(([name, value]) => {
    const other = known.get(name);
    if (other === undefined || isSameValue(value, other)) return [];
    return [{ name, sent: String(value), returned: String(other) }];
  });
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
 * address that responds to a publish would leave it in doubt. Without one, something is read first, once for all callers.
 */
class ServiceCheck {
  readonly #executor: Executor;
  readonly #calls: Calls;
  #reading: Promise<CallResult<unknown>> | undefined;

  constructor(executor: Executor, calls: Calls) {
    this.#executor = executor;
    this.#calls = calls;
  }

  /** Sends a call once the service is known to respond; otherwise ends it `not_sent`. */
  async send<T>(call: Call<T>, write: PublishOptions): Promise<CallResult<T>> {
    while (!this.#executor.hasResponded) {
      const others = this.#reading;
      this.#reading ??= this.#read(write).finally(() => {
        this.#reading = undefined;
      });
      const read = await this.#reading;
      if (read.outcome === "done") break;
      const { failure } = read;
      // The caller that started the read was stopped; this one was not, and reads again.
      if (others !== undefined && failure.code === "aborted" && !write.signal.aborted) continue;
      if (this.#executor.hasResponded && failure.stops !== "run") break;
      return { outcome: "not_sent", failure: uncheckedFailure(call, failure), attempts: 0 };
    }
    return this.#executor.execute(call, write);
  }

  /** A read that concerns no draft comes first: a product that cannot be read must not stop the publishes of the others. */
  async #read({ productId, signal, budget }: PublishOptions): Promise<CallResult<unknown>> {
    // While it waits for its turn, another call may show the same: then it is not sent, and takes no call.
    const take = () => !this.#executor.hasResponded && (budget?.take() ?? true);
    const options = { signal, budget: { signal: budget?.signal, take } };
    const read = await this.#executor.execute(this.#calls.anyUpload(), options);
    const isOver = read.outcome === "done" || read.failure.stops === "run" || read.failure.code === "aborted";
    if (isOver || productId === undefined || this.#executor.hasResponded) return read;
    return this.#executor.execute(this.#calls.fetchProduct(productId), options);
  }
}

/** A failure that has its own cause keeps its code and hint; any other response is not from the service. */
function uncheckedFailure({ method, path }: RequestLine, read: CallFailure): CallFailure {
  if (read.code === "aborted" || read.code === "call-budget-exhausted") return read;
  if (read.stops === "run" || ownCauses.has(read.code)) {
    const { subject: _subject, hint = "Run the command again.", ...rest } = read;
    return { ...rest, message: `not sent, because the check before it failed: ${read.message}`, hint };
  }
  const request = `${method} ${path}`;
  return describeFailure({ code: "service-not-confirmed", request, stops: "run", detail: read.message });
}
