import type { NewProductOptions, RegisterOptions, UploadStatus } from "../model/ports.ts";
import type { Attributes, FileTarget } from "../model/resource.ts";
import { pickAttributes } from "../model/resource.ts";
import type { Parsed, ProductDetails, UploadCredentials } from "./documents.ts";
import {
  draftNamedBy,
  readCredentials,
  readDetached,
  readFile,
  readProbedFile,
  readProduct,
  readUpload,
  readUploads,
  typeOfFile,
  updateDocument,
} from "./documents.ts";
import type { ServiceProfile } from "./profile.ts";
import type { CallClass } from "./retry-policy.ts";

/** One call of the interface: its request, how its response is read, and how it may fail. */
export interface Call<T> {
  readonly method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  /** Begins with `/api`; may hold a query. */
  readonly path: string;
  readonly callClass: CallClass;
  /** A JSON:API document. */
  readonly body?: unknown;
  /** Reads the document of a 2xx response. */
  readonly read: (document: unknown) => Parsed<T>;
  /** Names the resource of a response, so that a person can check it when the call was only accepted (202). */
  readonly name?: (value: T) => string;
  /** Whether 202 with this value proves the call; absent: it never does. */
  readonly isProvenBy?: (value: T) => boolean;
  /** The value of a response without a body, if that is a valid response. */
  readonly whenEmpty?: { readonly value: T };
  /** It changes nothing, whatever its class, so a lost attempt leaves nothing in doubt. */
  readonly isProbe?: true;
  /** Over a connection of its own, as every publish and duplicate. */
  readonly ownConnection?: true;
  /** The response holds secrets: none of its text may be shown. */
  readonly secret?: true;
  /** Headers in place of the usual ones, to see how the service responds to them. */
  readonly headers?: { readonly accept?: string; readonly apiKey?: string };
}

interface NewProduct {
  readonly productId: number;
}

/** Every call of the interface: method, path, retry class, and the reader of its response. */
export function makeCalls({ types, update_method: method, uploads_query: parameter }: ServiceProfile) {
  const update = (target: FileTarget, attributes: Attributes): Call<Attributes> => {
    const sent = pickAttributes(target.kind, attributes);
    return {
      method,
      path: `${collectionPath(target)}/${target.fileId}`,
      callClass: "update",
      body: updateDocument(target, sent, types),
      // A value that was sent and not taken is seen.
      read: (document) => readFile(document, target, types, (name) => sent[name] !== undefined),
      whenEmpty: { value: sent },
    };
  };
  const getUpload = (uploadId: string): Call<UploadStatus> => ({
    method: "GET",
    path: `/api/uploads/${encodeURIComponent(uploadId)}`,
    callClass: "read",
    read: (document) => readUpload(document, types, { uploadId }),
  });

  return {
    update,
    getUpload,

    /** POST /api/drafts/:draft_id/{product,promotional}_files */
    attach(target: FileTarget, attributes: Attributes): Call<Attributes> {
      const sent = pickAttributes(target.kind, attributes);
      return {
        ...update(target, attributes),
        method: "POST",
        path: collectionPath(target),
        callClass: "attach",
        body: {
          data: { type: typeOfFile(target.kind, types), attributes: { file_id: target.fileId, ...sent } },
        },
      };
    },

    /** An update without attributes: returns the file and changes nothing (JSON:API 1.1 §Updating). */
    probe: (target: FileTarget): Call<Attributes> => ({
      ...update(target, {}),
      read: (document) => readProbedFile(document, target, types),
      isProbe: true,
    }),

    detach: (target: FileTarget): Call<undefined> => ({
      method: "DELETE",
      path: `${collectionPath(target)}/${target.fileId}`,
      callClass: "detach",
      read: (document) => readDetached(document, target, types),
      whenEmpty: { value: undefined },
    }),

    /** Ids are strings in documents (JSON:API §Identification). */
    publish: (draftId: number, claim: NewProductOptions["claim"]): Call<NewProduct> => ({
      method: "POST",
      path: "/api/products",
      callClass: "non_idempotent",
      body: {
        data: {
          type: types.product,
          relationships: { draft: { data: { type: types.draft, id: String(draftId) } } },
        },
      },
      read: (document) => {
        const reading = readProduct(document, types, { draftId });
        // A response that names the draft is about its product, whatever else has that id.
        const isNamed = reading.type === "valid" && draftNamedBy(reading.value) === String(draftId);
        return claimProduct(reading, isNamed ? (productId) => void claim?.(productId) : claim);
      },
      name: nameProduct,
    }),

    duplicate: (productId: number, claim: NewProductOptions["claim"]): Call<NewProduct> => ({
      method: "POST",
      path: `/api/products/${productId}/duplicate`,
      callClass: "non_idempotent",
      read: (document) => {
        const reading = readProduct(document, types, {});
        return reading.type === "valid" && reading.value.productId === productId
          ? { type: "another", problem: "it names the product that was to be copied" }
          : claimProduct(reading, claim);
      },
      name: nameProduct,
    }),

    /** `include` names relations; with none, the parameter is left out. */
    getProduct(productId: number, include: readonly string[]): Call<ProductDetails> {
      const query = include.length === 0 ? "" : `?include=${include.map(encodeURIComponent).join(",")}`;
      return {
        method: "GET",
        path: `/api/products/${productId}${query}`,
        callClass: "read",
        read: (document) => readProduct(document, types, { productId }),
      };
    },

    /** Whether a product exists. One that names another draft than `draftId` is a mismatch. */
    fetchProduct: (productId: number, draftId?: number): Call<null> => ({
      method: "GET",
      path: `/api/products/${productId}`,
      callClass: "read",
      read: (document) => {
        const reading = readProduct(document, types, { productId, draftId });
        return reading.type === "valid" ? { type: "valid", value: null } : withoutValue(reading);
      },
    }),

    credentials: (): Call<UploadCredentials> => ({
      method: "POST",
      path: "/api/uploads/credentials",
      callClass: "register",
      read: (document) => readCredentials(document, types),
      secret: true,
    }),

    /** A response about an upload that the caller knows as another one is a mismatch. */
    createUpload: (uploadKey: string, claim: RegisterOptions["claim"]): Call<UploadStatus> => ({
      method: "POST",
      path: "/api/uploads",
      callClass: "register",
      body: { data: { type: types.upload, attributes: { upload_key: uploadKey } } },
      read: (document) => {
        const reading = readUpload(document, types, { uploadKey });
        if (reading.type !== "valid") return reading;
        const holder = claim?.(reading.value);
        if (holder === undefined) return reading;
        return { type: "another", problem: `it names the upload of ${holder}` };
      },
    }),

    /** One page. Without a query parameter for ids (`uploads_query: null`) it holds one upload. */
    getUploads(uploadIds: readonly string[]): Call<readonly UploadStatus[]> {
      const ids = uploadIds.map(encodeURIComponent).join(",");
      return {
        method: "GET",
        path: `/api/uploads?${encodeURIComponent(parameter ?? "")}=${ids}`,
        callClass: "read",
        read: (document) => readUploads(document, types),
      };
    },

    /** Shows that the service responds: any JSON:API document does, so the upload need not exist. */
    anyUpload: (): Call<UploadStatus> => ({ ...getUpload("0"), ownConnection: true }),
  };
}

/** The calls of one service, by name. */
export type Calls = ReturnType<typeof makeCalls>;

/** The path of a draft's files of one kind. */
function collectionPath({ draftId, kind }: FileTarget): string {
  return `/api/drafts/${draftId}/${kind}`;
}

function nameProduct({ productId }: NewProduct): string {
  return `product ${productId}`;
}

function withoutValue(reading: Exclude<Parsed<unknown>, { type: "valid" }>): Parsed<never> {
  return reading.type === "without_id" ? { type: "without_id", value: undefined } : reading;
}

/** A product that the caller knows as another one is not the new one. */
function claimProduct(reading: Parsed<NewProduct>, claim: NewProductOptions["claim"]): Parsed<NewProduct> {
  if (reading.type !== "valid") return withoutValue(reading);
  const { productId } = reading.value;
  const holder = claim?.(productId);
  return holder === undefined
    ? { type: "valid", value: { productId } }
    : { type: "another", problem: `it names the product of ${holder}` };
}
