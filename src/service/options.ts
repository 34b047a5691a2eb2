import { DraftsyncError } from "../model/errors.ts";
import type { EventSink } from "../model/event.ts";
import type { Clock, Interrupts } from "../model/ports.ts";
import type { RateStore } from "../model/rate.ts";
import type { ConnectionOptions } from "./connections.ts";
import { isLoopback } from "./connections.ts";
import type { ServiceProfile } from "./profile.ts";

/** What a service is opened with. */
export interface ServiceOptions extends ConnectionOptions {
  /** https, or http on this machine; a path prefix is kept, a slash at its end ignored. */
  readonly baseUrl: string;
  /** Lets `baseUrl` be http elsewhere, where your API key is sent unencrypted. */
  readonly allowHttp?: boolean;
  /** Visible ASCII without spaces. Never in any message, error or event. */
  readonly apiKey: string;
  /** At most `limit` calls at the service in any window of `windowMs`. */
  readonly rate: { readonly limit: number; readonly windowMs: number };
  /** The table of rate reservations that processes share, such as their ledger; absent: the bound is this process's alone. */
  readonly rateStore?: RateStore;
  /** Calls, and connections, at a time. */
  readonly concurrency: number;
  /** Of one attempt, from dispatch to the last byte of the answer. */
  readonly timeoutMs: number;
  readonly profile: ServiceProfile;
  readonly clock: Clock;
  readonly emit: EventSink;
  /** Absolute folder of the workspace: sources to be stored are relative to it. */
  readonly root: string;
  /** Of every call, beside its own signal. */
  readonly interrupts?: Interrupts;
}

/** The service cannot be opened with such options. */
export class ServiceOptionsError extends DraftsyncError {
  override readonly name = "ServiceOptionsError";
}

/** Checks the options; returns the parsed base address. Throws {@link ServiceOptionsError}, which never holds the key. */
export function checkOptions(options: ServiceOptions): URL {
  checkKey(options.apiKey);
  checkNumber("rate.limit", options.rate.limit, true);
  checkNumber("rate.window", options.rate.windowMs, false);
  checkNumber("concurrency", options.concurrency, true);
  checkNumber("timeout", options.timeoutMs, false);
  const baseUrl = parseBaseUrl(options.baseUrl);
  if (baseUrl.protocol === "https:" || isLoopback(baseUrl.hostname) || options.allowHttp === true)
    return baseUrl;
  throw new ServiceOptionsError(`${baseUrl.origin} is not https: your API key would be sent unencrypted`, {
    code: "base-url-not-https",
    hint: "Use https; or, in a network that only you can read, write service.allow_http: true.",
  });
}

function parseBaseUrl(text: string): URL {
  const hint = "Write service.base_url as https://host/optional/path, without user, query and fragment.";
  if (!URL.canParse(text)) {
    throw new ServiceOptionsError("service.base_url is not a URL", { code: "base-url-invalid", hint });
  }
  const url = new URL(text);
  const plain = url.username === "" && url.password === "" && url.search === "" && url.hash === "";
  if (!plain || (url.protocol !== "https:" && url.protocol !== "http:")) {
    throw new ServiceOptionsError("service.base_url is not a plain http or https address", {
      code: "base-url-invalid",
      hint,
    });
  }
  return url;
}

/** A line break in a header would end it, and what follows would be a header of its own (RFC 9110 §5.5). */
function checkKey(key: string): void {
  if (key === "") {
    throw new ServiceOptionsError("the API key is missing", {
      code: "api-key-missing",
      hint: "Set DRAFTSYNC_API_KEY or service.api_key_file.",
    });
  }
  if (/^[\x21-\x7e]+$/.test(key)) return;
  const what = /[\r\n]/.test(key) ? "a line break" : "a space or a character that is not visible ASCII";
  throw new ServiceOptionsError(`the API key holds ${what}`, {
    code: "api-key-invalid",
    hint: "Check DRAFTSYNC_API_KEY or the file of service.api_key_file: it must hold the key and nothing else.",
  });
}

function checkNumber(name: string, value: number, whole: boolean): void {
  if (Number.isFinite(value) && value > 0 && (!whole || Number.isSafeInteger(value))) return;
  throw new ServiceOptionsError(`service.${name} must be ${whole ? "a whole number" : "a time"} above zero`, {
    code: "invalid-service-option",
    hint: `Correct service.${name}.`,
  });
}
