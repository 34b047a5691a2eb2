import type { SourceLocation } from "./source-location.ts";

/** What a {@link DraftsyncError} carries beside its message. */
export interface ErrorDetails {
  /** Stable, kebab-case; scripts may rely on it. */
  readonly code: string;
  /** Lines below the message: the first few of many things. */
  readonly details?: readonly string[];
  /** What the user can do about it. */
  readonly hint?: string;
  /** Where in the user's files. */
  readonly place?: SourceLocation;
  /** The request that failed: method and URL, without secrets. */
  readonly request?: { readonly method: string; readonly url: string };
  readonly cause?: unknown;
}

/**
 * The base of every error that draftsync throws. Any other class of error that reaches the user is a defect.
 * Users' mistakes in manifests are {@link Diagnostic}s instead, so that all of them can be shown at once.
 */
export class DraftsyncError extends Error {
  override readonly name: string = "DraftsyncError";
  readonly code: string;
  readonly details: readonly string[];
  readonly hint: string | undefined;
  readonly place: SourceLocation | undefined;
  readonly request: { readonly method: string; readonly url: string } | undefined;

  constructor(message: string, details: ErrorDetails) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = details.code;
    this.details = details.details ?? [];
    this.hint = details.hint;
    this.place = details.place;
    this.request = details.request;
  }
}

/** The text of anything that was thrown, without the internals of OpenSSL. */
export function messageOf(thrown: unknown): string {
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  const reason = openSslError.exec(text)?.[1];
  if (reason === undefined) return text;
  return noTlsReasons.has(reason) ? "the port does not speak TLS" : reason;
}

/** `[write EPROTO ]THREAD:error:NUMBER:LIBRARY:FUNCTION:REASON:FILE:LINE:…` */
const openSslError = /^[^:]*:error:[0-9A-F]+:[^:]*:[^:]*:([^:]+):/;

/** What OpenSSL says of a first response that is not TLS, such as that of an http server. */
const noTlsReasons: ReadonlySet<string> = new Set([
  "wrong version number",
  "packet length too long",
  "http request",
  "unknown protocol",
]);

/** The system's error code (`ENOENT`, `ECONNREFUSED`) of anything that was thrown, or of its cause. */
export function systemCodeOf(thrown: unknown): string | undefined {
  for (let error = thrown, depth = 0; error instanceof Error && depth < 5; error = error.cause, depth += 1) {
    if ("code" in error && typeof error.code === "string") return error.code;
  }
  return undefined;
}

/**
 * What to do about a file that cannot be opened. Without free descriptors (`EMFILE`, `ENFILE`) that says nothing about
 * the file; then it is about the limit, otherwise `otherwise`.
 */
export function fileHint(error: unknown, otherwise: string): string {
  switch (systemCodeOf(error)) {
    case "EMFILE":
      return "The process has too many files open. Raise the limit of open files, for example with `ulimit -n 4096`.";
    case "ENFILE":
      return "The machine has too many files open. Close programs, or raise its limit (fs.file-max).";
    default:
      return otherwise;
  }
}
