import type { CallResult } from "../model/outcome.ts";
import type { ReadOptions, UploadList, UploadStatus } from "../model/ports.ts";
import { getUploadCall, getUploadsCall } from "./calls.ts";
import type { Executor } from "./executor.ts";
import { describeFailure } from "./failures.ts";
import type { ServiceProfile } from "./profile.ts";

/** The two ways to read uploads. */
export interface UploadReader {
  getUpload(uploadId: string, signal: AbortSignal): Promise<CallResult<UploadStatus>>;
  readOne(uploadId: string, options: ReadOptions): Promise<CallResult<UploadStatus>>;
  getUploads(uploadIds: readonly string[], options: ReadOptions): Promise<CallResult<UploadList>>;
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

  const list = async (
    ids: readonly string[],
    options: ReadOptions,
  ): Promise<CallResult<readonly UploadStatus[]>> => {
    const uploads: UploadStatus[] = [];
    let attempts = 0;
    for (let start = 0; start < ids.length; start += pageSize) {
      const result = await getPage(ids.slice(start, start + pageSize), options);
      attempts += result.attempts;
      if (result.outcome !== "done") return { ...result, attempts };
      uploads.push(...result.value);
    }
    return { outcome: "done", status: 200, value: uploads, attempts };
  };

  return {
    getUpload: (uploadId, signal) => readOne(uploadId, { signal }),
    readOne,
    getPage,
    pageSize,
    async getUploads(uploadIds, options) {
      const ids = [...new Set(uploadIds)];
      const listed = profile.uploads_query === null ? nothingListed : await list(ids, options);
      if (listed.outcome !== "done") return listed;
      const found = new Map(listed.value.map((upload) => [upload.uploadId, upload]));
      const missing: UploadList["missing"][number][] = [];
      let { attempts } = listed;
      // A list that lacks an id is incomplete, and says nothing about it.
      for (const uploadId of ids.filter((id) => !found.has(id))) {
        const single = await readOne(uploadId, options);
        attempts += single.attempts;
        if (single.outcome === "done") found.set(uploadId, single.value);
        else if (single.failure.stops === "run") return { ...single, attempts };
        else missing.push({ uploadId, failure: single.failure });
      }
      const uploads = ids.flatMap((id) => found.get(id) ?? []);
      return { outcome: "done", status: 200, value: { uploads, missing }, attempts };
    },
  };
}

const nothingListed = { outcome: "done", status: 200, value: [], attempts: 0 } as const;

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
