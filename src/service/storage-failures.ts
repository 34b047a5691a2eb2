import { DraftsyncError, messageOf, systemCodeOf } from "../model/errors.ts";
import type { CallFailure, CallResult } from "../model/outcome.ts";
import type { StoredSource } from "../model/ports.ts";
import { describeFailure } from "./failures.ts";
import type { Redactor } from "./redact.ts";
import { SourceError } from "./source-file.ts";
import { CredentialsError, type StorageLocation } from "./storage-client.ts";

/** A success without the ETag that S3 always returns: a portal or proxy responded, and nothing may be stored. */
export class NotStoredError extends DraftsyncError {
  override readonly name = "NotStoredError";

  constructor() {
    super("the response has no ETag, so it may not be from the storage", {
      code: "storage-failed",
      hint: "Check whether a login page or proxy responds instead of the storage. Then run the command again.",
    });
  }
}

/** Why a file was not stored. */
export type PutFailure = Extract<CallResult<{ readonly uploadKey: string }>, { failure: CallFailure }> & {
  readonly outcome: "rejected" | "not_sent";
};

/** A put that ended with a failure. */
export function failed(outcome: "rejected" | "not_sent", failure: CallFailure): PutFailure {
  return { outcome, failure, attempts: 0 };
}

/** Explains an error that the SDK or the source threw while a file was being stored. */
export function explainPut(file: StoredSource, error: unknown, redactor: Redactor): PutFailure {
  const base = { subject: file.source, errors: [], stops: "operation" } as const;
  if (error instanceof SourceError) {
    const { code, message, hint } = error;
    return failed("rejected", { ...base, code, message, ...(hint === undefined ? {} : { hint }) });
  }
  if (error instanceof CredentialsError) return failed("not_sent", error.failure);
  const status = statusOf(error);
  const detail = redactor.text(status === undefined ? describe(error) : describeResponse(error));
  if (status !== undefined && status < 500 && status !== 408 && status !== 429) {
    return failed("rejected", {
      ...base,
      code: "storage-refused",
      message: `${file.source}: object storage refused the file (${status}): ${detail}`,
      hint: refusalHint(error, status),
      status,
    });
  }
  const hint = error instanceof DraftsyncError ? error.hint : undefined;
  return failed("not_sent", {
    ...base,
    code: "storage-failed",
    message: `${file.source}: the file could not be stored in object storage${status === undefined ? "" : ` (${status})`}: ${detail}`,
    hint:
      hint ??
      "Run the command again. If it stays so, check the network to the storage and service.profile.storage.",
    ...(status === undefined ? {} : { status }),
  });
}

function refusalHint(error: unknown, status: number): string {
  if (error instanceof Error && /^(ExpiredToken(Exception)?|RequestExpired)$/.test(error.name))
    return "The upload credentials expired. Run the command again: it requests new ones.";
  if (status < 400)
    return "Check service.profile.storage: the storage redirects to another address, which is never followed.";
  return "Check service.profile.storage, and that this machine's clock is right: signatures depend on it.";
}

/** The storage's own code and message. The SDK calls a response without them `Unknown: UnknownError`. */
function describeResponse(error: unknown): string {
  if (!(error instanceof Error)) return describe(error);
  return /^Unknown(Error)?$/.test(error.name)
    ? "the response has no reason"
    : `${error.name}: ${describe(error)}`;
}

/** The status that an error of the SDK carries. */
function statusOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !("$metadata" in error)) return undefined;
  const metadata = error.$metadata;
  if (typeof metadata !== "object" || metadata === null || !("httpStatusCode" in metadata)) return undefined;
  return typeof metadata.httpStatusCode === "number" ? metadata.httpStatusCode : undefined;
}

/** An error of several addresses has a code and no message. To others the SDK adds a hint for programmers. */
function describe(error: unknown): string {
  const message = messageOf(error).replace(/\s*Deserialization error: to see the raw response.*/s, "");
  return message || (systemCodeOf(error) ?? "no reason given");
}

/** The service names a storage that is not trusted. */
export function foreignFailure(
  file: StoredSource,
  { problem, hint }: Extract<StorageLocation, { type: "refused" }>,
): CallFailure {
  const code = "storage-host-not-allowed";
  const message = `${file.source}: the file was not stored: the service names a storage host that is not trusted: ${problem}`;
  return { code, message, subject: file.source, hint, errors: [], stops: "run" };
}

/** The run was interrupted before the file was stored. */
export function abortedFailure(file: StoredSource): CallFailure {
  const message = `${file.source}: the file was not stored: the run was stopped`;
  const hint = "Run the command again.";
  return { code: "aborted", message, subject: file.source, hint, errors: [], stops: "run" };
}

/** The run has no call left to register the file. */
export function unregisteredFailure({ source: subject }: StoredSource): CallFailure {
  const code = "call-budget-exhausted";
  return { ...describeFailure({ code, request: "POST /api/uploads", stops: "operation" }), subject };
}
