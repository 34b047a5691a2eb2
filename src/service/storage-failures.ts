import { DraftsyncError, messageOf, systemCodeOf } from "../model/errors.ts";
import type { CallFailure, CallResult } from "../model/outcome.ts";
import type { StoredSource } from "../model/ports.ts";
import type { Redactor } from "./redact.ts";
import { SourceError } from "./source-file.ts";
import type { StorageLocation } from "./storage-location.ts";

/** Credentials could not be refreshed while a file was being stored. */
export class CredentialsError extends DraftsyncError {
  override readonly name = "CredentialsError";
  readonly failure: CallFailure;

  constructor(failure: CallFailure) {
    super(failure.message, { code: failure.code });
    this.failure = failure;
  }
}

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

type PutResult = CallResult<{ readonly uploadKey: string }>;
/** Why a file was not stored. */
export type PutFailure = Extract<PutResult, { failure: CallFailure }> & {
  readonly outcome: "rejected" | "not_sent";
};

/** Explains what the SDK or the source threw while a file was being stored. */
export function explainPut(file: StoredSource, error: unknown, redactor: Redactor): PutFailure {
  if (error instanceof SourceError) {
    const { code, message, hint } = error;
    return failed("rejected", {
      code,
      message,
      subject: file.source,
      ...(hint === undefined ? {} : { hint }),
      errors: [],
      stops: "operation",
    });
  }
  if (error instanceof CredentialsError) return failed("not_sent", error.failure);
  const status = statusOf(error);
  const detail = redactor.text(status === undefined ? describe(error) : describeResponse(error));
  if (status !== undefined && status < 500 && status !== 408 && status !== 429) {
    return failed("rejected", {
      code: "storage-refused",
      message: `${file.source}: object storage refused the file (${status}): ${detail}`,
      subject: file.source,
      hint: refusalHint(error, status),
      status,
      errors: [],
      stops: "operation",
    });
  }
  return failed("not_sent", {
    code: "storage-failed",
    message: `${file.source}: the file could not be stored in object storage: ${detail}`,
    subject: file.source,
    hint:
      error instanceof DraftsyncError && error.hint !== undefined
        ? error.hint
        : "Run the command again. If it stays so, check the network to the storage and service.profile.storage.",
    ...(status === undefined ? {} : { status }),
    errors: [],
    stops: "operation",
  });
}

function refusalHint(error: unknown, status: number): string {
  if (error instanceof Error && expiredNames.has(error.name))
    return "The upload credentials expired. Run the command again: it requests new ones.";
  if (status < 400)
    return "Check service.profile.storage: the storage redirects to another address, which is never followed.";
  return "Check service.profile.storage, and that this machine's clock is right: signatures depend on it.";
}

const expiredNames: ReadonlySet<string> = new Set([
  "ExpiredToken",
  "ExpiredTokenException",
  "RequestExpired",
]);

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

/** An error of several addresses has a code and no message. */
function describe(error: unknown): string {
  return messageOf(error) || (systemCodeOf(error) ?? "no reason given");
}

/** The service names a storage that is not trusted. */
export function foreignFailure(
  file: StoredSource,
  { problem, hint }: Extract<StorageLocation, { type: "refused" }>,
): CallFailure {
  return {
    code: "storage-host-not-allowed",
    message: `${file.source}: the file was not stored: the service names a storage host that is not trusted: ${problem}`,
    subject: file.source,
    hint,
    errors: [],
    stops: "run",
  };
}

/** The run was interrupted before the file was stored. */
export function abortedFailure(file: StoredSource): CallFailure {
  return {
    code: "aborted",
    message: `${file.source}: the file was not stored: the run was interrupted`,
    subject: file.source,
    hint: "Run the command again.",
    errors: [],
    stops: "run",
  };
}

/** A put that ended with a failure. */
export function failed(outcome: "rejected" | "not_sent", failure: CallFailure): PutFailure {
  return { outcome, failure, attempts: 0 };
}
