import type { CallResult } from "../model/outcome.ts";
import type { ReadOptions, UploadStatus } from "../model/ports.ts";
import { getUploadCall, getUploadsCall } from "./calls.ts";
import type { Executor } from "./executor.ts";
import { describeFailure } from "./failures.ts";
import type { ServiceProfile } from "./profile.ts";

/** The two ways to read uploads. */
export interface UploadReader {
  getUpload(uploadId: string, signal: AbortSignal): Promise<CallResult<UploadStatus>>;
  readOne(uploadId: string, options: ReadOptions): Promise<CallResult<UploadStatus>>;
  getUploads(uploadIds: readonly string[], signal: AbortSignal): Promise<CallResult<readonly UploadStatus[]>>;
  /** One call: at most `pageSize` ids. */
  getPage(uploadIds: readonly string[], options: ReadOptions): Promise<CallResult<readonly UploadStatus[]>>;
  readonly pageSize: number;
}

/** Reads uploads by the settings of the profile: page after page, or one by one. */
export function makeUploadReader(executor: Executor, profile: ServiceProfile): UploadReader {
  const pageSize = profile.uploads_query === null ? 1 : profile.uploads_page;
  const readOne = (uploadId: string, options: ReadOptions): Promise<CallResult<UploadStatus>> =>
    isPathSegment(uploadId)
      ? executor.execute(getUploadCall(uploadId, profile), options)
      : Promise.resolve(refuseId(uploadId));

  const getPage = async (
    page: readonly string[],
    options: ReadOptions,
  ): Promise<CallResult<readonly UploadStatus[]>> => {
    if (profile.uploads_query !== null) {
      return executor.execute(getUploadsCall(page, profile.uploads_query, profile), options);
    }
    const result = await readOne(page[0] ?? "", options);
    return result.outcome === "done" ? { ...result, value: [result.value] } : result;
  };

  return {
    getUpload: (uploadId, signal) => readOne(uploadId, { signal }),
    readOne,
    getPage,
    pageSize,
    async getUploads(uploadIds, signal) {
      const uploads: UploadStatus[] = [];
      let attempts = 0;
      for (let start = 0; start < uploadIds.length; start += pageSize) {
        const result = await getPage(uploadIds.slice(start, start + pageSize), { signal });
        attempts += result.attempts;
        if (result.outcome !== "done") return { ...result, attempts };
        uploads.push(...result.value);
      }
      return { outcome: "done", status: 200, value: uploads, attempts };
    },
  };
}

/** An empty segment, `.` and `..` would name another path, whatever their encoding (RFC 3986 §6.2.2.3). */
function isPathSegment(text: string): boolean {
  return text !== "" && text !== "." && text !== "..";
}

function refuseId(uploadId: string): CallResult<never> {
  const request = `GET /api/uploads/${uploadId}`;
  return {
    outcome: "not_sent",
    failure: describeFailure({ code: "invalid-id", request, stops: "operation" }),
    attempts: 0,
  };
}
