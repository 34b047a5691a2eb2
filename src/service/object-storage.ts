import { posix } from "node:path";
import { Readable } from "node:stream";
import type { S3Client } from "@aws-sdk/client-s3";
import pLimit from "p-limit";
import type { EventSink, StoreOutcome } from "../model/event.ts";
import { onAbort } from "../model/on-abort.ts";
import type { Clock, Interrupts, ObjectStorage, StoredSource } from "../model/ports.ts";
import { type ConnectionOptions, openAgent } from "./connections.ts";
import type { Redactor } from "./redact.ts";
import type { OpenSource } from "./source-file.ts";
import { openSource, SourceError } from "./source-file.ts";
import {
  type AskCredentials,
  failWhenStalled,
  limitResponses,
  reportStorageCalls,
  StorageSession,
} from "./storage-calls.ts";
import {
  abortedFailure,
  CredentialsError,
  explainPut,
  failed,
  foreignFailure,
  NotStoredError,
} from "./storage-failures.ts";
import { locateStorage, type StorageLocation, type StorageRules } from "./storage-location.ts";

/** What object storage is opened with. */
export interface ObjectStorageParts {
  /** Absolute folder that sources are relative to, and may not lie outside of. */
  readonly root: string;
  readonly rules: StorageRules;
  readonly connections: ConnectionOptions;
  /** How long a storage may make no progress, milliseconds. */
  readonly timeoutMs: number;
  /** Asks the service for upload credentials. */
  readonly askCredentials: AskCredentials;
  readonly clock: Clock;
  readonly emit: EventSink;
  readonly redactor: Redactor;
  readonly interrupts?: Interrupts | undefined;
}

/** Object storage with connections to be closed. */
export interface OpenObjectStorage extends ObjectStorage {
  close(): void;
}

/** Up to this size one PutObject, above it a multipart upload of parts of this size or larger. */
const partSize = 8 * 1024 * 1024;
const maxParts = 10_000;
/** Parts of one file under way at a time, and files: together they bound the memory. */
const partsAtOnce = 2;
const filesAtOnce = 4;

const maxConnectMs = 10_000;
const storageAttempts = 3;

/**
 * The outcome of a put speaks of the upload at the service, which is registered only once the bytes are stored:
 * `rejected` when the file or the storage says no, `not_sent` for anything that may be tried again. Bytes that are put
 * once more replace the object of the same key with themselves.
 */
export function openObjectStorage(parts: ObjectStorageParts): OpenObjectStorage {
  const session = new StorageSession(parts.askCredentials, parts.clock);
  const limit = pLimit(filesAtOnce);
  const clients = new Map<string, Promise<S3Client>>();

  const clientFor = (place: AllowedLocation): Promise<S3Client> => {
    const name = JSON.stringify([place.endpoint, place.region]);
    const known = clients.get(name) ?? openClient(place, parts, session);
    clients.set(name, known);
    return known;
  };

  const put: ObjectStorage["put"] = async (file, signal, budget) => {
    if (signal.aborted || budget?.signal?.aborted) return failed("not_sent", abortedFailure(file));
    const credentials = await session.credentials({ signal, budget });
    if (credentials.outcome !== "done") return credentials;
    const storage = locateStorage(credentials.value, parts.rules);
    if (storage.type === "refused") return failed("rejected", foreignFailure(file, storage));
    const progress = progressOf(parts, file);
    const ended = <E extends { readonly outcome: StoreOutcome }>(end: E): E => {
      progress.finish(end.outcome);
      return end;
    };
    let source: OpenSource | undefined;
    try {
      source = await openSource(parts.root, file);
      const client = await clientFor(storage);
      const uploadKey = `${credentials.value.keyPrefix}${file.sha256}/${posix.basename(file.source)}`;
      const place = {
        client,
        bucket: storage.bucket,
        key: uploadKey,
        file,
        signal,
        abortInFlight: parts.interrupts?.abortInFlight,
        emit: progress.sent,
      };
      progress.sent(0);
      await (file.size <= partSize ? putWhole(source, place) : putInParts(source, place));
      return ended({ outcome: "done", status: 200, value: { uploadKey }, attempts: 1 });
    } catch (error) {
      return ended(
        signal.aborted ? failed("not_sent", abortedFailure(file)) : explainPut(file, error, parts.redactor),
      );
    } finally {
      await source?.close();
    }
  };

  return {
    put: (...request) => limit(() => put(...request)),
    close() {
      for (const client of clients.values()) void client.then((opened) => opened.destroy());
    },
  };
}

interface UploadLocation {
  readonly client: S3Client;
  readonly bucket: string;
  readonly key: string;
  readonly file: StoredSource;
  /** Takes no further bytes, and removes the parts that were stored. */
  readonly signal: AbortSignal;
  /** Waits for nothing any more. */
  readonly abortInFlight: AbortSignal | undefined;
  readonly emit: (sent: number) => void;
}

type AllowedLocation = Extract<StorageLocation, { type: "allowed" }>;

/** The SDK is large: it is loaded by the first upload, not by every command. */
async function openClient(
  { endpoint, region }: AllowedLocation,
  { rules, connections, clock, emit, timeoutMs }: ObjectStorageParts,
  session: StorageSession,
): Promise<S3Client> {
  const { S3Client } = await import("@aws-sdk/client-s3");
  const agent = await openAgent(new URL(endpoint ?? `https://s3.${region}.amazonaws.com`), connections);
  const client = new S3Client({
    region,
    ...(endpoint === undefined ? {} : { endpoint }),
    forcePathStyle: rules.settings.force_path_style ?? endpoint !== undefined,
    // Checksums beyond what S3 demands are not understood by every compatible storage; the digest is checked here.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    maxAttempts: storageAttempts,
    // A storage that ignores `Expect: 100-continue` would cost the SDK's wait of 6 s for each part.
    expectContinueHeader: false,
    requestHandler: {
      connectionTimeout: Math.min(timeoutMs, maxConnectMs),
      // Without a byte in either direction.
      socketTimeout: timeoutMs,
      ...(agent === undefined ? {} : { httpsAgent: agent, httpAgent: agent }),
    },
    // Where bytes may go is decided by `locateStorage` alone.
    followRegionRedirects: false,
    // Called again by the SDK before the expiration, so that a long upload outlives its first credentials.
    credentials: async () => {
      const result = await session.credentials({ signal: new AbortController().signal });
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
  reportStorageCalls(client, { clock, emit });
  failWhenStalled(client, timeoutMs);
  limitResponses(client, timeoutMs);
  return client;
}

/** The whole file is in memory, and known to be the planned one, before its first byte leaves. */
async function putWhole(source: OpenSource, place: UploadLocation): Promise<void> {
  const { PutObjectCommand } = await import("@aws-sdk/client-s3");
  const body = await source.readAll();
  const command = new PutObjectCommand({
    Bucket: place.bucket,
    Key: place.key,
    Body: body,
    ContentLength: body.length,
  });
  const { ETag } = await place.client.send(command, { abortSignal: place.signal });
  if (ETag === undefined) throw new NotStoredError();
  place.emit(body.length);
}

/**
 * The last bytes are given out only when the whole has proven to be the planned file, so that an upload of anything
 * else can never be completed; it is aborted and its parts are removed.
 */
async function putInParts(source: OpenSource, place: UploadLocation): Promise<void> {
  const { Upload } = await import("@aws-sdk/lib-storage");
  let stopped: unknown;
  const chunks = async function* () {
    try {
      for await (const chunk of source.readChunks()) {
        place.signal.throwIfAborted();
        yield chunk;
      }
    } catch (error) {
      stopped = error;
      throw error;
    }
  };
  const body = Readable.from(chunks(), { objectMode: false });
  const upload = new Upload({
    client: place.client,
    params: { Bucket: place.bucket, Key: place.key, Body: body, ContentLength: place.file.size },
    partSize: Math.max(partSize, Math.ceil(place.file.size / maxParts)),
    queueSize: partsAtOnce,
  });
  const leave = onAbort(place.abortInFlight, () => void upload.abort());
  upload.on("httpUploadProgress", ({ loaded }) => place.emit(loaded ?? 0));
  try {
    const { ETag } = await upload.done();
    // A proxy's page with status 200 is no completion.
    if (ETag === undefined) throw new NotStoredError();
  } catch (error) {
    throw stopped instanceof SourceError ? stopped : error;
  } finally {
    leave();
    body.destroy();
  }
}

interface StoreProgress {
  sent(bytes: number): void;
  finish(outcome: StoreOutcome): void;
}

function progressOf({ clock, emit }: ObjectStorageParts, { source, size }: StoredSource): StoreProgress {
  const startedAt = clock.monotonic();
  return {
    sent: (sent) => emit({ type: "upload_progress", at: clock.now(), source, sent, total: size }),
    finish: (outcome) => {
      const ms = Math.round(clock.monotonic() - startedAt);
      emit({ type: "upload_finished", at: clock.now(), source, outcome, ms });
    },
  };
}
