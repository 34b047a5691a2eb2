import { z } from "zod";
import { parseId } from "../model/address.ts";
import type { UploadStatus } from "../model/ports.ts";
import { malformed, type Parsed, readResource } from "./documents.ts";
import type { ServiceProfile } from "./profile.ts";

type Types = ServiceProfile["types"];

/** The body of POST /api/uploads. */
export function uploadDocument(uploadKey: string, types: Types): unknown {
  return { data: { type: types.upload, attributes: { upload_key: uploadKey } } };
}

/** Credentials for putting bytes into object storage. All of it is secret but bucket, region and endpoint. */
export interface UploadCredentials {
  readonly keyPrefix: string;
  readonly bucket: string;
  readonly region: string;
  readonly accessKey: string;
  readonly secretKey: string;
  readonly sessionToken?: string;
  /** Epoch milliseconds; absent: they do not expire. */
  readonly expiresAt?: number;
  /** Of an S3-compatible storage; absent: Amazon's own. */
  readonly endpoint?: string;
}

const listSchema = z.object({ data: z.array(z.unknown()), errors: z.never().optional() });

/** Text that goes on into a path, an object's key or the ledger: of a length for that, and without what none of them holds. */
const usable = /^[^\p{Cc}\p{Cs}]{0,500}$/u;

const uploadAttributesSchema = z.looseObject({
  status: z.string().nullish(),
  upload_key: z.string().nullish(),
  message: z.string().nullish(),
  file_id: z
    .union([
      z.int().positive(),
      z
        .string()
        .transform((text) => parseId(text) ?? Number.NaN)
        .pipe(z.int()),
    ])
    .nullish(),
});

/**
 * Reads one upload. A status that is missing is pending: it says nothing about failure. An upload that names another id or key
 * than the request was about is a mismatch: its file would be sold in another draft.
 */
export function readUpload(
  document: unknown,
  types: Types,
  asked: Partial<Pick<UploadStatus, "uploadId" | "uploadKey">> = {},
): Parsed<UploadStatus> {
  const reading = readResource(document, types.upload);
  if (reading.type === "malformed") return reading;
  if (reading.type === "without_id") return { type: "without_id", value: undefined };
  const { id: uploadId = "" } = reading.value;
  if (!usable.test(uploadId)) return malformed("its id is too long, or holds control characters");
  const attributes = uploadAttributesSchema.safeParse(reading.value.attributes);
  if (!attributes.success)
    return malformed("`status`, `message`, `file_id` or `upload_key` of the upload has the wrong type");
  const { status, message, file_id: fileId, upload_key: uploadKey } = attributes.data;
  if (asked.uploadId !== undefined && uploadId !== asked.uploadId)
    return { type: "another", problem: `it names upload ${uploadId.slice(0, 50)}, not ${asked.uploadId}` };
  if (asked.uploadKey !== undefined && uploadKey && uploadKey !== asked.uploadKey)
    return {
      type: "another",
      problem: `it names the object ${uploadKey.slice(0, 100)}, not ${asked.uploadKey}`,
    };
  const value: UploadStatus = {
    uploadId,
    status: statusOf(status, fileId),
    rawStatus: status ?? "",
    ...(uploadKey === null || uploadKey === undefined ? {} : { uploadKey }),
    ...(message === null || message === undefined ? {} : { message }),
    ...(fileId === null || fileId === undefined ? {} : { fileId }),
  };
  return { type: reading.type, value };
}

/** Reads a list of uploads. It may lack some that were asked for; that says nothing about them. */
export function readUploads(document: unknown, types: Types): Parsed<readonly UploadStatus[]> {
  const list = listSchema.safeParse(document);
  if (!list.success) return malformed("`data` is not a list");
  const uploads: UploadStatus[] = [];
  for (const data of list.data.data) {
    const reading = readUpload({ data }, types);
    if (reading.type !== "valid")
      return malformed("problem" in reading ? reading.problem : "an upload has no id");
    const { uploadId, fileId } = reading.value;
    const other = uploads.find((each) => each.uploadId === uploadId);
    if (other !== undefined && other.fileId !== fileId)
      return malformed(`it has upload ${uploadId.slice(0, 50)} twice, as two files`);
    uploads.push(reading.value);
  }
  return { type: "valid", value: uploads };
}

/** How many resources a document lists; `undefined` when it is no list. */
export function countListed(document: unknown): number | undefined {
  return listSchema.safeParse(document).data?.data.length;
}

const credentialAttributesSchema = z.looseObject({
  key_prefix: z.string().regex(usable).nullish(),
  bucket: z.string().min(1),
  region: z.string().min(1).nullish(),
  access_key: z.string().min(1),
  secret_key: z.string().min(1),
  session_token: z.string().nullish(),
  expiration: z.iso.datetime({ offset: true }).nullish(),
  endpoint: z.url({ protocol: /^https?$/ }).nullish(),
});

/** Reads upload credentials. A problem names the members that are wrong, never their values. */
export function readCredentials(document: unknown, types: Types): Parsed<UploadCredentials> {
  const reading = readResource(document, types.upload_credential);
  if (reading.type === "malformed") return reading;
  const parsed = credentialAttributesSchema.safeParse(reading.value.attributes);
  if (!parsed.success) {
    const names = [...new Set(parsed.error.issues.map((issue) => issue.path.join(".")))];
    return malformed(`missing or not valid in the credentials: ${names.join(", ")}`);
  }
  const { session_token: sessionToken, expiration, endpoint, ...rest } = parsed.data;
  const value: UploadCredentials = {
    keyPrefix: rest.key_prefix ?? "",
    bucket: rest.bucket,
    region: rest.region ?? "us-east-1",
    accessKey: rest.access_key,
    secretKey: rest.secret_key,
    ...(sessionToken === null || sessionToken === undefined ? {} : { sessionToken }),
    ...(expiration === null || expiration === undefined ? {} : { expiresAt: Date.parse(expiration) }),
    ...(endpoint === null || endpoint === undefined ? {} : { endpoint }),
  };
  return { type: "valid", value };
}

/** `success` counts only with the file id that comes with it. */
function statusOf(
  status: string | null | undefined,
  fileId: number | null | undefined,
): UploadStatus["status"] {
  switch (status ?? "queued") {
    case "queued":
    case "processing":
      return "pending";
    case "success":
      return fileId === null || fileId === undefined ? "pending" : "success";
    default:
      return "failed";
  }
}
