import type { CallResult } from "../model/outcome.ts";
import type { UploadStatus } from "../model/ports.ts";
import { getUploadCall, getUploadsCall } from "./calls.ts";
import type { Executor } from "./executor.ts";
import { describeFailure } from "./failures.ts";
import type { ServiceProfile } from "./profile.ts";

/** The two ways to read uploads. */
export interface UploadReader {
  getUpload(uploadId: string, signal: AbortSignal): Promise<CallResult<UploadStatus>>;
  getUploads(uploadIds: readonly string[], signal: AbortSignal): Promise<CallResult<readonly UploadStatus[]>>;
}

/** Reads uploads by the settings of the profile: page after page, or one by one. */
export function makeUploadReader(executor: Executor, profile: ServiceProfile): UploadReader {
  const getUpload = (uploadId: string, signal: AbortSignal): Promise<CallResult<UploadStatus>> =>
    isPathSegment(uploadId)
      ? executor.execute(getUploadCall(uploadId, profile), { signal })
      : Promise.resolve(refuseId(uploadId));

  const readPage = async (
    page: readonly string[],
    signal: AbortSignal,
  ): Promise<CallResult<readonly UploadStatus[]>> => {
    if (profile.uploads_query !== null) {
      return executor.execute(getUploadsCall(page, profile.uploads_query, profile), { signal });
    }
    const result = await getUpload(page[0] ?? "", signal);
    return result.outcome === "done" ? { ...result, value: [result.value] } : result;
  };

  return {
    getUpload,
    async getUploads(uploadIds, signal) {
      const size = profile.uploads_query === null ? 1 : profile.uploads_page;
      const uploads: UploadStatus[] = [];
      let attempts = 0;
      for (let start = 0; start < uploadIds.length; start += size) {
        const result = await readPage(uploadIds.slice(start, start + size), signal);
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
