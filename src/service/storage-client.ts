import { pipeline, Readable, Transform } from "node:stream";
import type { S3Client } from "@aws-sdk/client-s3";
import { DraftsyncError, systemCodeOf } from "../model/errors.ts";
import type { CallFailure, CallResult } from "../model/outcome.ts";
import type { Clock, ReadOptions } from "../model/ports.ts";
import { connectTimeoutOf, isLoopback, openAgent } from "./connections.ts";
import type { UploadCredentials } from "./documents.ts";
import type { ServiceOptions } from "./options.ts";
import type { ServiceProfile } from "./profile.ts";
import type { Redactor } from "./redact.ts";

/** Where the bytes of uploads go, or why they do not. */
export type StorageLocation =
  | {
      readonly type: "allowed";
      /** Absent: AWS itself. */
      readonly endpoint?: string;
      readonly region: string;
      readonly bucket: string;
    }
  | { readonly type: "refused"; readonly problem: string; readonly hint: string };

/** What decides about a storage. */
interface StorageTrust {
  readonly settings: ServiceProfile["storage"];
  readonly baseUrl: URL;
  /** Knows the secrets of the credentials. */
  readonly redactor: Redactor;
}

/**
 * Decides whether bytes may go where a response of the service says. A signed request must not reach another party, nor may a
 * file that is not published yet: so the host is one that the config names, AWS, or the service's own (`baseUrl`), always
 * over TLS; and nothing else in the credentials may become a part of a host.
 */
export function locateStorage(
  credentials: UploadCredentials,
  { settings, baseUrl, redactor }: StorageTrust,
): StorageLocation {
  const { region, bucket, keyPrefix } = credentials;
  const refuse = (problem: string): StorageLocation => {
    const hint = "Check service.base_url: another server may respond there.";
    return { type: "refused", problem, hint };
  };
  // These are shown and stored.
  const shown = [region, bucket, keyPrefix];
  if (String(redactor.json(shown, JSON.stringify(shown))) !== String(shown))
    return refuse("it repeats a secret as region, bucket or key prefix");
  if (!/^[a-z0-9-]{1,63}$/i.test(region)) return refuse(`${show(region)} is not a region`);
  if (!/^[a-z0-9](?:[a-z0-9._-]{1,253}[a-z0-9])$/i.test(bucket) || bucket.includes(".."))
    return refuse(`${show(bucket)} is not a bucket name`);
  const endpoint = settings.endpoint ?? credentials.endpoint;
  if (endpoint === undefined) return { type: "allowed", region, bucket };
  if (settings.endpoint !== undefined) return { type: "allowed", endpoint, region, bucket };
  const { protocol, hostname, host, origin } = new URL(endpoint);
  const hint = `If the host is right, set service.profile.storage.hosts: [${host}]. It must use https.`;
  const local = isLoopback(baseUrl.hostname) && isLoopback(hostname);
  if (protocol !== "https:" && !local) return { type: "refused", problem: `${origin} is not https`, hint };
  if (local || host === baseUrl.host || isAws(hostname) || settings.hosts.includes(host))
    return { type: "allowed", endpoint, region, bucket };
  return { type: "refused", problem: `${origin} is neither AWS nor the service's own host`, hint };
}

/** Its regions, and those in China (https://docs.aws.amazon.com/general/latest/gr/s3.html). */
function isAws(host: string): boolean {
  return /\.amazonaws\.com(\.cn)?$/.test(host);
}

function show(text: string): string {
  return JSON.stringify(text.slice(0, 80));
}

/** Requests credentials from the service. */
export type AskCredentials = (options: ReadOptions) => Promise<CallResult<UploadCredentials>>;

/** Credentials that would expire sooner than this are not used for a new request. */
const refreshBeforeMs = 60_000;

/**
 * Shares upload credentials: requested when they are first needed and again before they expire, with the options of the
 * first caller; callers that need them at the same time share one call.
 */
export function shareCredentials(ask: AskCredentials, clock: Clock): AskCredentials {
  let asking: Promise<CallResult<UploadCredentials>> | undefined;
  let known: Extract<CallResult<UploadCredentials>, { outcome: "done" }> | undefined;
  return async (options) => {
    const { expiresAt = Number.POSITIVE_INFINITY } = known?.value ?? {};
    if (known !== undefined && expiresAt - clock.now() >= refreshBeforeMs) return known;
    asking ??= ask(options).finally(() => {
      asking = undefined;
    });
    const result = await asking;
    if (result.outcome === "done") known = result;
    return result;
  };
}

/** Credentials could not be refreshed while a file was being stored. */
export class CredentialsError extends DraftsyncError {
  override readonly name = "CredentialsError";
  readonly failure: CallFailure;

  constructor(failure: CallFailure) {
    super(failure.message, { code: failure.code });
    this.failure = failure;
  }
}

const storageAttempts = 3;

/** Opens a client for one storage. The SDK is large: it is loaded by the first upload, not by every command. */
export async function openClient(
  { endpoint, region }: Extract<StorageLocation, { type: "allowed" }>,
  options: ServiceOptions,
  askCredentials: AskCredentials,
): Promise<S3Client> {
  const { S3Client } = await import("@aws-sdk/client-s3");
  const { timeoutMs } = options;
  const connectTimeoutMs = connectTimeoutOf(timeoutMs);
  const address = new URL(endpoint ?? `https://s3.${region}.amazonaws.com`);
  const agent = await openAgent(address, { ...options, connectTimeoutMs });
  const client = new S3Client({
    region,
    ...(endpoint === undefined ? {} : { endpoint }),
    forcePathStyle: options.profile.storage.force_path_style ?? endpoint !== undefined,
    // Checksums beyond what S3 demands are not understood by every compatible storage; the digest is checked here.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    maxAttempts: storageAttempts,
    // A storage that ignores `Expect: 100-continue` would cost the SDK's wait of 6 s for each part.
    expectContinueHeader: false,
    requestHandler: {
      connectionTimeout: connectTimeoutMs,
      // Without a byte in either direction.
      socketTimeout: timeoutMs,
      httpsAgent: agent,
      httpAgent: agent,
    },
    // Only `locateStorage` decides where bytes may go.
    followRegionRedirects: false,
    // Called again by the SDK before the expiration, so that a long upload outlives its first credentials.
    credentials: async () => {
      const result = await askCredentials({ signal: new AbortController().signal });
      if (result.outcome !== "done") throw new CredentialsError(result.failure);
      const { accessKey, secretKey, sessionToken, expiresAt } = result.value;
      return {
        accessKeyId: accessKey,
        secretAccessKey: secretKey,
        ...(sessionToken === undefined ? {} : { sessionToken }),
        ...(expiresAt === undefined ? {} : { expiration: new Date(expiresAt) }),
      };
    },
  });
  reportStorageCalls(client, options);
  failWhenStalled(client, timeoutMs);
  limitResponses(client, timeoutMs);
  return client;
}

/**
 * Emits an event for each request that is sent, retries included: method, bucket, key, status and time. Query, headers and body
 * are left out: they hold signatures, tokens and the user's bytes.
 */
function reportStorageCalls(client: S3Client, { clock, emit }: Pick<ServiceOptions, "clock" | "emit">): void {
  client.middlewareStack.add(
    (next) => async (args) => {
      const startedAt = clock.monotonic();
      const { input, request } = args;
      const report = (status: unknown) =>
        emit({
          type: "storage_call_finished",
          at: clock.now(),
          method: textOf(request, "method"),
          bucket: textOf(input, "Bucket"),
          key: textOf(input, "Key"),
          attempt: attemptOf(request),
          ...(typeof status === "number" ? { status } : {}),
          ms: Math.round(clock.monotonic() - startedAt),
        });
      try {
        const result = await next(args);
        report(memberOf(result.response, "statusCode"));
        return result;
      } catch (error) {
        report(undefined);
        throw error;
      }
    },
    // The innermost step: after signing and retries, before the response is read.
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

function memberOf(object: unknown, name: string): unknown {
  return typeof object === "object" && object !== null && name in object
    ? Object.getOwnPropertyDescriptor(object, name)?.value
    : undefined;
}

/** No byte was sent or received for as long as `service.timeout`, or a response did not end. */
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
 * Fails requests without another attempt when the storage stops making progress. Then it tries one request for another object. If that
 * stalls too, all others fail without being sent until the storage responds, also those that remove parts: otherwise each would
 * wait as long.
 */
function failWhenStalled(client: S3Client, timeoutMs: number): void {
  /** The keys of objects that no response came for, since the last one. */
  const stalled = new Set<string>();
  let trial: Promise<void> | undefined;
  client.middlewareStack.add(
    (next) => async (args) => {
      const key = textOf(args.input, "Key");
      // That a storage opens an upload in parts does not show that it takes the bytes.
      const isProof = textOf(args.request, "method") === "PUT";
      const send = async () => {
        try {
          return await next(args);
        } catch (error) {
          if (!isTimeout(error)) throw error;
          stalled.add(key);
          throw new StorageStalledError(timeoutMs);
        } finally {
          if (isProof && !stalled.has(key)) stalled.clear();
        }
      };
      if (stalled.size === 0) {
        trial = undefined;
        return send();
      }
      if (stalled.has(key)) throw new StorageStalledError(timeoutMs);
      if (trial === undefined) {
        const sent = send();
        trial = Promise.allSettled([sent]).then(() => {
          if (!stalled.has(key)) trial = undefined;
        });
        return sent;
      }
      await trial;
      if (stalled.size > 0) throw new StorageStalledError(timeoutMs);
      return send();
    },
    // Within the step that retries.
    { step: "finalizeRequest", priority: "low", name: "failWhenStalled" },
  );
}

/** The SDK names a reset connection a timeout, too; only its own timeouts have no such code. */
function isTimeout(error: unknown): boolean {
  if (!(error instanceof Error) || error.name !== "TimeoutError") return false;
  const code = systemCodeOf(error);
  return code !== "ECONNRESET" && code !== "EPIPE";
}

/** A response may take this many times `service.timeout`: S3 sends white space while it puts a large file together. */
const responseTimeouts = 10;

/** Bytes; the responses to an upload are a few lines of XML. */
const maxResponseBytes = 1024 * 1024;

/** Ends responses that never end: each of their bytes would be progress, and the SDK keeps them all. */
function limitResponses(client: S3Client, timeoutMs: number): void {
  client.middlewareStack.add(
    (next) => async (args) => {
      const result = await next(args);
      const { response } = result;
      const body = memberOf(response, "body");
      if (body instanceof Readable)
        Object.assign(Object(response), { body: limited(body, responseTimeouts * timeoutMs) });
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
      if (size > maxResponseBytes) done(endless);
      else done(null, chunk);
    },
  });
  const timer = setTimeout(() => limiter.destroy(endless), ms).unref();
  pipeline(body, limiter, () => clearTimeout(timer));
  return limiter;
}
