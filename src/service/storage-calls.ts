import { pipeline, Readable, Transform } from "node:stream";
import type { S3Client } from "@aws-sdk/client-s3";
import { DraftsyncError, systemCodeOf } from "../model/errors.ts";
import type { EventSink } from "../model/event.ts";
import type { CallResult } from "../model/outcome.ts";
import type { Clock, ReadOptions } from "../model/ports.ts";
import type { UploadCredentials } from "./upload-documents.ts";

/** What {@link reportStorageCalls} works with. */
export interface StorageCallParts {
  readonly clock: Clock;
  readonly emit: EventSink;
}

/**
 * Has a client tell each request that it sends, retries apart: method, bucket, key, status and time. What is in its query,
 * headers and body stays untold; that is where signatures, tokens and the user's bytes are.
 */
export function reportStorageCalls(client: S3Client, { clock, emit }: StorageCallParts): void {
  client.middlewareStack.add(
    (next) => async (args) => {
      const startedAt = clock.monotonic();
      const { input, request } = args;
      const tell = (status: number | undefined) =>
        emit({
          type: "storage_call_finished",
          at: clock.now(),
          method: textOf(request, "method"),
          bucket: textOf(input, "Bucket"),
          key: textOf(input, "Key"),
          attempt: attemptOf(request),
          ...(status === undefined ? {} : { status }),
          ms: Math.round(clock.monotonic() - startedAt),
        });
      try {
        const result = await next(args);
        tell(numberOf(result.response, "statusCode"));
        return result;
      } catch (error) {
        tell(undefined);
        throw error;
      }
    },
    // The innermost step: after signing and retries, before the answer is read.
    { step: "deserialize", priority: "low", name: "reportStorageCalls" },
  );
}

/** The SDK counts its attempts in a header: `attempt=2; max=3`. */
function attemptOf(request: unknown): number {
  const header = textOf(memberOf(request, "headers"), "amz-sdk-request");
  return Number(/attempt=(\d+)/.exec(header)?.[1] ?? 1);
}

function textOf(object: unknown, name: string): string {
  const value = memberOf(object, name);
  return typeof value === "string" ? value : "";
}

function numberOf(object: unknown, name: string): number | undefined {
  const value = memberOf(object, name);
  return typeof value === "number" ? value : undefined;
}

function memberOf(object: unknown, name: string): unknown {
  return typeof object === "object" && object !== null && name in object
    ? Object.getOwnPropertyDescriptor(object, name)?.value
    : undefined;
}

/** Asks the service for credentials. */
export type AskCredentials = (options: ReadOptions) => Promise<CallResult<UploadCredentials>>;

/** Credentials that would expire sooner than this are not used for a new request. */
const refreshBeforeMs = 60_000;

/**
 * Upload credentials, asked for when they are first needed and again before they expire; those who need them at the
 * same time share one call.
 */
export class StorageSession {
  readonly #ask: AskCredentials;
  readonly #clock: Clock;
  #asking: Promise<CallResult<UploadCredentials>> | undefined;
  #known: Extract<CallResult<UploadCredentials>, { outcome: "done" }> | undefined;

  constructor(ask: AskCredentials, clock: Clock) {
    this.#ask = ask;
    this.#clock = clock;
  }

  /** Credentials that are good for a while, if the service gives such; the options are those of the first caller. */
  async credentials(options: ReadOptions): Promise<CallResult<UploadCredentials>> {
    if (this.#known !== undefined && !this.#isEnding(this.#known.value)) return this.#known;
    this.#asking ??= this.#ask(options).finally(() => {
      this.#asking = undefined;
    });
    const result = await this.#asking;
    if (result.outcome === "done") this.#known = result;
    return result;
  }

  #isEnding(credentials: UploadCredentials): boolean {
    return credentials.expiresAt !== undefined && credentials.expiresAt - this.#clock.now() < refreshBeforeMs;
  }
}

/** No byte went to the storage or came from it for as long as `service.timeout`, or its response did not end. */
class StorageStalledError extends DraftsyncError {
  override readonly name = "StorageStalledError";

  constructor(timeoutMs: number) {
    super(`the storage made no progress for ${timeoutMs / 1000} s, or did not end its response`, {
      code: "storage-failed",
      hint: "Check that the storage works; raise service.timeout if it is slow. Then run the command again.",
    });
  }
}

/**
 * Has requests of a client fail at once, without another try, when the storage stops making progress. Until it responds again
 * its other requests fail without being sent, those that remove parts included: otherwise each would wait as long.
 */
export function failWhenStalled(client: S3Client, timeoutMs: number): void {
  let isStalled = false;
  client.middlewareStack.add(
    (next) => async (args) => {
      if (isStalled) throw new StorageStalledError(timeoutMs);
      try {
        const result = await next(args);
        isStalled = false;
        return result;
      } catch (error) {
        if (!isTimeout(error)) {
          isStalled = false;
          throw error;
        }
        isStalled = true;
        throw new StorageStalledError(timeoutMs);
      }
    },
    // Within the step that retries.
    { step: "finalizeRequest", priority: "low", name: "failWhenStalled" },
  );
}

/** A response may take this many times `service.timeout`: S3 sends white space while it puts a large file together. */
const answerTimeouts = 10;

/** Bytes; the responses to an upload are a few lines of XML. */
const maxAnswerBytes = 1024 * 1024;

/** Ends responses that never end: each byte of theirs would be progress, and the SDK keeps them all. */
export function limitResponses(client: S3Client, timeoutMs: number): void {
  client.middlewareStack.add(
    (next) => async (args) => {
      const result = await next(args);
      const { response } = result;
      const body = memberOf(response, "body");
      if (body instanceof Readable)
        Object.assign(Object(response), { body: limited(body, answerTimeouts * timeoutMs) });
      return result;
    },
    { step: "deserialize", priority: "low", name: "limitResponses" },
  );
}

function limited(body: Readable, ms: number): Readable {
  const endless = Object.assign(new Error("the response does not end"), { name: "TimeoutError" });
  let size = 0;
  const limiter = new Transform({
    transform(chunk: Uint8Array, _encoding, done) {
      size += chunk.length;
      if (size > maxAnswerBytes) done(endless);
      else done(null, chunk);
    },
  });
  const timer = setTimeout(() => limiter.destroy(endless), ms).unref();
  pipeline(body, limiter, () => clearTimeout(timer));
  return limiter;
}

/** The SDK gives a connection that was reset the name of a timeout, too; only its own timeouts carry no such code. */
function isTimeout(error: unknown): boolean {
  if (!(error instanceof Error) || error.name !== "TimeoutError") return false;
  const code = systemCodeOf(error);
  return code !== "ECONNRESET" && code !== "EPIPE";
}
