import { posix } from "node:path";
import { Readable } from "node:stream";
import type { S3Client } from "@aws-sdk/client-s3";
import pLimit from "p-limit";
import type { ObjectStorage, StoredSource } from "../model/ports.ts";
import { onAbort } from "../model/wait.ts";
import type { ServiceOptions } from "./options.ts";
import type { Redactor } from "./redact.ts";
import { type OpenSource, openSource, SourceError } from "./source-file.ts";
import {
  type AskCredentials,
  locateStorage,
  openClient,
  type StorageLocation,
  shareCredentials,
} from "./storage-client.ts";
import {
  abortedFailure,
  explainPut,
  failed,
  foreignFailure,
  NotStoredError,
  unregisteredFailure,
} from "./storage-failures.ts";

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

/**
 * The outcome of a put is about the upload at the service, which is registered only once the bytes are stored: `rejected` when
 * the file or the storage refuses, `not_sent` for anything that may be tried again. Bytes that are put once more replace the
 * object of the same key with themselves.
 */
export function openObjectStorage(
  options: ServiceOptions,
  parts: { readonly baseUrl: URL; readonly askCredentials: AskCredentials; readonly redactor: Redactor },
): OpenObjectStorage {
  const { root, clock, emit, interrupts, profile } = options;
  const askCredentials = shareCredentials(parts.askCredentials, clock);
  const limit = pLimit(filesAtOnce);
  const clients = new Map<string, Promise<S3Client>>();

  const clientFor = (location: Extract<StorageLocation, { type: "allowed" }>): Promise<S3Client> => {
    const name = JSON.stringify([location.endpoint, location.region]);
    const known = clients.get(name) ?? openClient(location, options, askCredentials);
    clients.set(name, known);
    return known;
  };

  const put: ObjectStorage["put"] = async (file, { signal, budget, reserve }) => {
    if (signal.aborted || budget?.signal?.aborted) return failed("not_sent", abortedFailure(file));
    const credentials = await askCredentials({ signal, budget });
    if (credentials.outcome !== "done") return credentials;
    const { keyPrefix } = credentials.value;
    const location = locateStorage(credentials.value, {
      settings: profile.storage,
      baseUrl: parts.baseUrl,
      redactor: parts.redactor,
    });
    if (location.type === "refused") return failed("rejected", foreignFailure(file, location));
    if (reserve?.() === false) return failed("not_sent", unregisteredFailure(file));
    const startedAt = clock.monotonic();
    const uploadKey = `${keyPrefix}${file.sha256}/${posix.basename(file.source)}`;
    const store = async () => {
      let source: OpenSource | undefined;
      try {
        source = await openSource(root, file);
        const client = await clientFor(location);
        const onProgress = (sent: number) =>
          emit({ type: "upload_progress", at: clock.now(), source: file.source, sent, total: file.size });
        const { abortInFlight } = interrupts ?? {};
        const { bucket } = location;
        const upload = { client, bucket, key: uploadKey, file, signal, abortInFlight, onProgress };
        onProgress(0);
        await (file.size <= partSize ? putWhole(source, upload) : putInParts(source, upload));
        return { outcome: "done", status: 200, value: { uploadKey }, attempts: 1 } as const;
      } catch (error) {
        return signal.aborted
          ? failed("not_sent", abortedFailure(file))
          : explainPut(file, error, parts.redactor);
      } finally {
        await source?.close();
      }
    };
    const result = await store();
    const ms = Math.round(clock.monotonic() - startedAt);
    const { outcome } = result;
    emit({ type: "upload_finished", at: clock.now(), source: file.source, outcome, ms });
    return result;
  };

  return {
    put: (...request) => limit(() => put(...request)),
    close() {
      for (const client of clients.values()) void client.then((opened) => opened.destroy());
    },
  };
}

interface UploadRequest {
  readonly client: S3Client;
  readonly bucket: string;
  readonly key: string;
  readonly file: StoredSource;
  /** Stops reading the file; the parts that were stored are removed. */
  readonly signal: AbortSignal;
  /** Stops waiting for anything. */
  readonly abortInFlight: AbortSignal | undefined;
  readonly onProgress: (sent: number) => void;
}

/** The whole file is in memory, and known to be the planned one, before its first byte leaves. */
async function putWhole(source: OpenSource, upload: UploadRequest): Promise<void> {
  const { PutObjectCommand } = await import("@aws-sdk/client-s3");
  const body = await source.readAll();
  const command = new PutObjectCommand({
    Bucket: upload.bucket,
    Key: upload.key,
    Body: body,
    ContentLength: body.length,
  });
  const { ETag } = await upload.client.send(command, { abortSignal: upload.signal });
  if (ETag === undefined) throw new NotStoredError();
  upload.onProgress(body.length);
}

/**
 * The last bytes are read only when the whole has proven to be the planned file, so that an upload of anything else can never
 * be completed; it is aborted and its parts are removed.
 */
async function putInParts(source: OpenSource, request: UploadRequest): Promise<void> {
  const { Upload } = await import("@aws-sdk/lib-storage");
  const { client, bucket, key, file, signal } = request;
  let stopped: unknown;
  const chunks = async function* () {
    try {
      for await (const chunk of source.readChunks()) {
        signal.throwIfAborted();
        yield chunk;
      }
    } catch (error) {
      stopped = error;
      throw error;
    }
  };
  const body = Readable.from(chunks(), { objectMode: false });
  const upload = new Upload({
    client,
    params: { Bucket: bucket, Key: key, Body: body, ContentLength: file.size },
    partSize: Math.max(partSize, Math.ceil(file.size / maxParts)),
    queueSize: partsAtOnce,
  });
  const stopListening = onAbort(request.abortInFlight, () => void upload.abort());
  upload.on("httpUploadProgress", ({ loaded }) => request.onProgress(loaded ?? 0));
  try {
    const { ETag } = await upload.done();
    // A proxy's page with status 200 is no completion.
    if (ETag === undefined) throw new NotStoredError();
  } catch (error) {
    throw stopped instanceof SourceError ? stopped : error;
  } finally {
    stopListening();
    body.destroy();
  }
}
