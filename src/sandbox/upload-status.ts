import type { Settings } from "./options.ts";
import type { Upload } from "./store/uploads.ts";

/** An upload as it stands at a moment. */
export interface UploadView {
  readonly id: string;
  readonly uploadKey: string | null;
  readonly status: "queued" | "processing" | "success" | "failed";
  /** The id of its file, once `success`. */
  readonly fileId: number | null;
  /** Why it failed, once `failed`. */
  readonly message: string | null;
}

/**
 * Where an upload stands, worked out when it is read; nothing runs in between:
 *
 *     created ──── queued ──── half the time ──── processing ──── the time is over ──┬── success, file_id
 *                                                                                    └── failed, message
 */
export function viewUpload(upload: Upload, settings: Settings): UploadView {
  const elapsed = settings.now() - upload.createdAt;
  const base = { id: upload.id, uploadKey: upload.uploadKey, fileId: null, message: null };
  if (elapsed < settings.uploadProcessingMs / 2) return { ...base, status: "queued" };
  if (elapsed < settings.uploadProcessingMs) return { ...base, status: "processing" };
  if (upload.failure !== null) return { ...base, status: "failed", message: upload.failure };
  return { ...base, status: "success", fileId: upload.fileId };
}
