import type { S3Client } from "@aws-sdk/client-s3";
import type { EventSink } from "../model/event.ts";
import type { Clock } from "../model/ports.ts";

/** What {@link reportStorageCalls} works with. */
export interface StorageCallParts {
  readonly clock: Clock;
  readonly emit: EventSink;
}

/**
 * Has a client tell each request that it sends, retries apart: method, bucket, key, status and time. What is in its query,
 * headers and body stays untold; that is where signatures, tokens and the user's bytes are.
 */
export function reportStorageCalls(client: S3Client, { clock, emit }: StorageCallParts): void {
  client.middlewareStack.add(
    (next) => async (args) => {
      const startedAt = clock.monotonic();
      const { input, request } = args;
      const tell = (status: number | undefined) =>
        emit({
          type: "storage_call_finished",
          at: clock.now(),
          method: textOf(request, "method"),
          bucket: textOf(input, "Bucket"),
          key: textOf(input, "Key"),
          attempt: attemptOf(request),
          ...(status === undefined ? {} : { status }),
          ms: Math.round(clock.monotonic() - startedAt),
        });
      try {
        const result = await next(args);
        tell(numberOf(result.response, "statusCode"));
        return result;
      } catch (error) {
        tell(undefined);
        throw error;
      }
    },
    // The innermost step: after signing and retries, before the answer is read.
    { step: "deserialize", priority: "low", name: "reportStorageCalls" },
  );
}

/** The SDK counts its attempts in a header: `attempt=2; max=3`. */
function attemptOf(request: unknown): number {
  const header = textOf(memberOf(request, "headers"), "amz-sdk-request");
  return Number(/attempt=(\d+)/.exec(header)?.[1] ?? 1);
}

function textOf(object: unknown, name: string): string {
  const value = memberOf(object, name);
  return typeof value === "string" ? value : "";
}

function numberOf(object: unknown, name: string): number | undefined {
  const value = memberOf(object, name);
  return typeof value === "number" ? value : undefined;
}

function memberOf(object: unknown, name: string): unknown {
  return typeof object === "object" && object !== null && name in object
    ? Object.getOwnPropertyDescriptor(object, name)?.value
    : undefined;
}
