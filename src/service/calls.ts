import type { NewProductOptions, RegisterOptions, UploadStatus } from "../model/ports.ts";
import type { Attributes, FileTarget } from "../model/resource.ts";
import { pickAttributes } from "../model/resource.ts";
import type { Parsed, ProductDetails } from "./documents.ts";
import {
  attachDocument,
  publishDocument,
  readDetached,
  readFile,
  readNewProduct,
  readProbedFile,
  readProduct,
  updateDocument,
} from "./documents.ts";
import type { ServiceProfile } from "./profile.ts";
import type { CallClass } from "./retry-policy.ts";
import type { HttpRequest } from "./transport.ts";
import type { UploadCredentials } from "./upload-documents.ts";
import { readCredentials, readUpload, readUploads, uploadDocument } from "./upload-documents.ts";

/** One call of the interface: the request, how its answer is read, and how it may fail. */
export interface Call<T> {
  readonly method: HttpRequest["method"];
  /** Begins with `/api`; may hold a query. */
  readonly path: string;
  readonly callClass: CallClass;
  /** A JSON:API document. */
  readonly body?: unknown;
  /** Reads the document of a 2xx answer. */
  readonly read: (document: unknown) => Parsed<T>;
  /** Names the resource of a response, so that a person can check there when the call was only accepted (202). */
  readonly name?: (value: T) => string;
  /** What an answer without a body stands for, when it stands for anything. */
  readonly whenEmpty?: { readonly value: T };
  /** It changes nothing, whatever its class: what an earlier attempt of it left open is no doubt. */
  readonly isProbe?: true;
  /** Over a connection of its own, beside those that hang. */
  readonly ownConnection?: true;
  /** The answer holds secrets: none of its text may be shown. */
  readonly secret?: boolean;
  /** Headers in place of the usual ones, to see what the service says to them. */
  readonly headers?: Pick<HttpRequest, "accept" | "apiKey">;
}

/** The HTTP request of a call. */
export function requestOf(
  call: Pick<Call<unknown>, "method" | "path" | "body" | "callClass" | "headers" | "ownConnection">,
): HttpRequest {
  return {
    method: call.method,
    path: call.path,
    ...call.headers,
    ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
    ownConnection: call.ownConnection ?? call.callClass === "non_idempotent",
  };
}

/** POST /api/drafts/:draft_id/{product,promotional}_files */
export function attachCall(
  target: FileTarget,
  attributes: Attributes,
  profile: ServiceProfile,
): Call<Attributes> {
  const sent = pickAttributes(target.kind, attributes);
  return {
    method: "POST",
    path: collectionPath(target),
    callClass: "attach",
    body: attachDocument(target, sent, profile.types),
    read: (document) => readFile(document, target, profile.types),
    whenEmpty: { value: sent },
  };
}

/** A read that shows that the service answers: any JSON:API document does, so the upload need not exist. */
export function anyUploadCall(profile: ServiceProfile): Call<unknown> {
  const { method, path, callClass, read } = getUploadCall("0", profile);
  return { method, path, callClass, read, ownConnection: true };
}

/** PATCH or PUT /api/drafts/:draft_id/{product,promotional}_files/:id */
export function updateCall(
  target: FileTarget,
  attributes: Attributes,
  profile: ServiceProfile,
): Call<Attributes> {
  const sent = pickAttributes(target.kind, attributes);
  return {
    method: profile.update_method,
    path: `${collectionPath(target)}/${target.fileId}`,
    callClass: "update",
    body: updateDocument(target, sent, profile.types),
    read: (document) => readFile(document, target, profile.types),
    whenEmpty: { value: sent },
  };
}

/** An update without attributes: returns the file and changes nothing (JSON:API 1.1 §Updating). */
export function probeCall(target: FileTarget, profile: ServiceProfile): Call<Attributes> {
  return {
    ...updateCall(target, {}, profile),
    read: (document) => readProbedFile(document, target, profile.types),
    isProbe: true,
  };
}

/** DELETE /api/drafts/:draft_id/{product,promotional}_files/:id */
export function detachCall(target: FileTarget, profile: ServiceProfile): Call<undefined> {
  return {
    method: "DELETE",
    path: `${collectionPath(target)}/${target.fileId}`,
    callClass: "detach",
    read: (document) => readDetached(document, target, profile.types),
    whenEmpty: { value: undefined },
  };
}

/** POST /api/products */
export function publishCall(
  draftId: number,
  profile: ServiceProfile,
  claim?: NewProductOptions["claim"],
): Call<{ readonly productId: number }> {
  return {
    method: "POST",
    path: "/api/products",
    callClass: "non_idempotent",
    body: publishDocument(draftId, profile.types),
    read: (document) => claimedProduct(readNewProduct(document, profile.types, draftId), claim),
    name: nameProduct,
  };
}

/** POST /api/products/:id/duplicate */
export function duplicateCall(
  productId: number,
  profile: ServiceProfile,
  claim?: NewProductOptions["claim"],
): Call<{ readonly productId: number }> {
  return {
    method: "POST",
    path: `/api/products/${productId}/duplicate`,
    callClass: "non_idempotent",
    read: (document) => {
      const reading = readNewProduct(document, profile.types);
      if (reading.type !== "valid" || reading.value.productId !== productId)
        return claimedProduct(reading, claim);
      return { type: "another", problem: "it names the product that was to be copied" };
    },
    name: nameProduct,
  };
}

/** A product that is recorded for another address is not the new one. */
function claimedProduct(
  reading: Parsed<{ readonly productId: number }>,
  claim: NewProductOptions["claim"],
): Parsed<{ readonly productId: number }> {
  const holder = reading.type === "valid" ? claim?.(reading.value.productId) : undefined;
  return holder === undefined ? reading : { type: "another", problem: `it names the product of ${holder}` };
}

/** GET /api/products/:id; `include` names relations, none leaves the parameter out. */
export function getProductCall(
  productId: number,
  include: readonly string[],
  profile: ServiceProfile,
): Call<ProductDetails> {
  const query = include.length === 0 ? "" : `?include=${include.map(encodeURIComponent).join(",")}`;
  return {
    method: "GET",
    path: `/api/products/${productId}${query}`,
    callClass: "read",
    read: (document) => readProduct(document, profile.types, { productId }),
  };
}

/** GET /api/products/:id, to know whether it is there. With a draft, a product that names another one is a mismatch. */
export function fetchProductCall(productId: number, profile: ServiceProfile, draftId?: number): Call<null> {
  return {
    method: "GET",
    path: `/api/products/${productId}`,
    callClass: "read",
    read: (document) => {
      const reading = readProduct(document, profile.types, { productId, draftId });
      if (reading.type === "without_id") return { type: "without_id", value: undefined };
      return reading.type === "valid" ? { type: "valid", value: null } : reading;
    },
  };
}

/** POST /api/uploads/credentials */
export function credentialsCall(profile: ServiceProfile): Call<UploadCredentials> {
  return {
    method: "POST",
    path: "/api/uploads/credentials",
    callClass: "register",
    read: (document) => readCredentials(document, profile.types),
    secret: true,
  };
}

/** POST /api/uploads. Without the key of its object, an upload that is recorded for another object is not the new one. */
export function createUploadCall(
  uploadKey: string,
  profile: ServiceProfile,
  claim?: RegisterOptions["claim"],
): Call<UploadStatus> {
  return {
    method: "POST",
    path: "/api/uploads",
    callClass: "register",
    body: uploadDocument(uploadKey, profile.types),
    read: (document) => {
      const reading = readUpload(document, profile.types, { uploadKey });
      if (reading.type !== "valid" || reading.value.uploadKey !== undefined) return reading;
      const holder = claim?.(reading.value.uploadId);
      return holder === undefined
        ? reading
        : { type: "another", problem: `it names the upload of ${holder}` };
    },
  };
}

/** GET /api/uploads/:id */
export function getUploadCall(uploadId: string, profile: ServiceProfile): Call<UploadStatus> {
  return {
    method: "GET",
    path: `/api/uploads/${encodeURIComponent(uploadId)}`,
    callClass: "read",
    read: (document) => readUpload(document, profile.types, { uploadId }),
  };
}

/** GET /api/uploads with the ids in the query parameter of that name. */
export function getUploadsCall(
  uploadIds: readonly string[],
  parameter: string,
  profile: ServiceProfile,
): Call<readonly UploadStatus[]> {
  return {
    method: "GET",
    path: `/api/uploads?${encodeURIComponent(parameter)}=${uploadIds.map(encodeURIComponent).join(",")}`,
    callClass: "read",
    read: (document) => readUploads(document, profile.types),
  };
}

/** The path of a draft's files of one kind. */
export function collectionPath(target: FileTarget): string {
  return `/api/drafts/${target.draftId}/${target.kind}`;
}

function nameProduct({ productId }: { readonly productId: number }): string {
  return `product ${productId}`;
}
