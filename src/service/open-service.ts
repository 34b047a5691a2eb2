import type { CallResult } from "../model/outcome.ts";
import type {
  DraftService,
  ObjectStorage,
  ReadOptions,
  ServiceReader,
  UploadList,
  UploadStatus,
  WriteOptions,
} from "../model/ports.ts";
import {
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
import type { ProductDetails, UploadCredentials } from "./documents.ts";
import { openObjectStorage } from "./object-storage.ts";
import { atStart, type Circumstances, openExecutor } from "./open-executor.ts";
import type { ServiceOptions } from "./options.ts";
import { ServiceCheck } from "./service-check.ts";
import { UploadPoller } from "./upload-poller.ts";
import { makeUploadReader } from "./upload-reader.ts";

export type { ProductDetails, Resource, UploadCredentials } from "./documents.ts";
export type { ServiceOptions } from "./options.ts";

/** The whole interface (service-interface.md §4), each call within the rate bound. */
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
  const askCredentials = (options: ReadOptions) => executor.execute(credentialsCall(profile), options);
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

  return {
    storage,
    attach: (target, attributes, write) => executor.execute(attachCall(target, attributes, profile), write),
    update: (target, attributes, write) => executor.execute(updateCall(target, attributes, profile), write),
    detach: (target, write) => executor.execute(detachCall(target, profile), write),
    publish: (draftId, write) => send(publishCall(draftId, profile), write.productId, write),
    duplicate: (productId, write) => send(duplicateCall(productId, profile), productId, write),
    createUpload: (uploadKey, write) => executor.execute(createUploadCall(uploadKey, profile), write),
    expectUpload: () => poller.expect(),
    awaitUpload: (uploadId, signal, budget) => poller.wait(uploadId, { signal, budget }),
    probe: (target, read) => executor.execute(probeCall(target, profile), read),
    fetchProduct: (productId, read) => executor.execute(fetchProductCall(productId, profile), read),
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
