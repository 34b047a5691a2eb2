import type { S3Client } from "@aws-sdk/client-s3";
import { DraftsyncError, systemCodeOf } from "../model/errors.ts";

/** No byte went to the storage or came from it for as long as `service.timeout`. */
export class StorageStalledError extends DraftsyncError {
  override readonly name = "StorageStalledError";

  constructor(timeoutMs: number) {
    super(`no byte went to the storage or came from it for ${timeoutMs / 1000} s`, {
      code: "storage-failed",
      hint: "Check that the storage works; raise service.timeout if it is slow. Then run the command again.",
    });
  }
}

/**
 * Has requests of a client fail at once, without another try, when the storage stops making progress. Until it responds again
 * its other requests fail without being sent, those that remove parts included: otherwise each would wait as long.
 */
export function failWhenStalled(client: S3Client, timeoutMs: number): void {
  let isStalled = false;
  client.middlewareStack.add(
    (next) => async (args) => {
      if (isStalled) throw new StorageStalledError(timeoutMs);
      try {
        const result = await next(args);
        isStalled = false;
        return result;
      } catch (error) {
        if (!isTimeout(error)) {
          isStalled = false;
          throw error;
        }
        isStalled = true;
        throw new StorageStalledError(timeoutMs);
      }
    },
    // Within the step that retries.
    { step: "finalizeRequest", priority: "low", name: "failWhenStalled" },
  );
}

/** The SDK gives a connection that was reset the name of a timeout, too; only its own timeouts carry no such code. */
function isTimeout(error: unknown): boolean {
  if (!(error instanceof Error) || error.name !== "TimeoutError") return false;
  const code = systemCodeOf(error);
  return code !== "ECONNRESET" && code !== "EPIPE";
}
