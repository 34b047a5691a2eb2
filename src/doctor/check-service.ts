import { isLoopback } from "../service/connections.ts";
import { countListed } from "../service/documents.ts";
import { readErrors } from "../service/response-body.ts";
import type {
  Check,
  CheckNameIn,
  CheckResult,
  RateLimit,
  ResponseSample,
  Results,
  Samples,
} from "./check.ts";
import {
  failed,
  failedBy,
  isConclusive,
  isResponse,
  isTransient,
  listChecks,
  ok,
  unknown,
  warning,
} from "./check.ts";
import { checkClock, checkLatency, checkRate, checkTls } from "./check-connection.ts";

/** The settings that the samples are compared with. */
export interface ServiceSettings {
  readonly baseUrl: string;
  readonly rate: RateLimit;
  readonly concurrency: number;
  readonly contentType: string;
  /** Wall clock, epoch milliseconds. */
  readonly now: number;
}

/** The input of every check of the service. */
export interface ServiceInput extends ServiceSettings {
  readonly samples: Samples;
  /** All samples that are responses. */
  readonly responses: readonly ResponseSample[];
  /** The responses to the three plain reads. */
  readonly reads: readonly ResponseSample[];
}

type ServiceCheck = (input: ServiceInput) => CheckResult | undefined;

/** The checks of the service. `undefined`: the samples do not allow the check. */
const serviceChecks: Readonly<Record<CheckNameIn<"service">, ServiceCheck>> = {
  address: checkAddress,
  tls: checkTls,
  key_accepted: checkKey,
  wrong_key: checkWrongKey,
  version: checkVersion,
  media_types: checkMediaTypes,
  errors: checkErrors,
  uploads_query: checkUploadsQuery,
  rate: checkRate,
  clock: checkClock,
  latency: checkLatency,
};

/** These checks compare responses of the service, so another server's responses do not count. */
const needAddress: ReadonlySet<string> = new Set(["rate", "clock", "latency"]);

/** Checks a service by its samples. Pure. */
export function checkService(samples: Samples, settings: ServiceSettings): readonly Check[] {
  const { product, upload, uploads, otherVersion, moreAccept, wrongKey } = samples;
  const reads = [product, upload, uploads].filter(isResponse);
  const responses = [...reads, ...[otherVersion, moreAccept, wrongKey].filter(isResponse)];
  const input = { ...settings, samples, responses, reads };
  const reached = checkAddress(input).status !== "failed";
  const results: Results<"service"> = Object.fromEntries(
    Object.entries(serviceChecks).map(([name, check]) => [
      name,
      reached || !needAddress.has(name) ? check(input) : undefined,
    ]),
  );
  return listChecks(
    "service",
    results,
    results.key_accepted?.status === "failed" ? "key_accepted" : "address",
  );
}

function checkAddress({ samples: { product, uploads }, reads, baseUrl }: ServiceInput): CheckResult {
  if (product.type === "failed") return failedBy("address-unreachable", product.problem);
  const response = reads.find((read) => !isTransient(read));
  if (response === undefined) {
    const { status } = product;
    return failed("address-fails", `the service returned ${status}`, { details: { status } });
  }
  if (uploads === undefined || !reads.every(({ status }) => status === 404)) {
    return checkResponse(response, baseUrl);
  }
  const details = { requests: reads.map(({ request }) => request) };
  return warning("address-api-missing", `${reads.length} paths of the API returned 404`, { details });
}

/** Checks the address by one response. Pure. */
export function checkResponse(response: ResponseSample, baseUrl: string): CheckResult {
  const { status, body, header, request } = response;
  if (status >= 300 && status < 400) return checkRedirect(response, baseUrl);
  if (body.type === "text" && body.html) {
    const { excerpt } = body;
    const message = `a web page was returned (${status}): ${excerpt}`;
    return failed("address-web-page", message, { details: { status, excerpt } });
  }
  const excerpt = describeForeignBody(response);
  if (excerpt !== undefined) {
    const message = `the response (${status}) is not a JSON:API document: ${excerpt}`;
    return failed("address-not-api", message, { details: { status, excerpt } });
  }
  const media_type = header("content-type") ?? "no content type";
  const message = `${request} returned ${status} as ${media_type}`;
  return ok("address-reachable", message, { details: { request, status, media_type } });
}

/** What the body contains instead of a JSON:API document; `undefined` if it is one, or an error without a body. */
function describeForeignBody({ status, body }: ResponseSample): string | undefined {
  if (body.type === "text") return body.excerpt;
  if (body.type === "unreadable") return body.problem;
  if (status >= 300) return undefined;
  if (body.type === "empty") return "no body";
  const { document } = body;
  const isDocument =
    typeof document === "object" && document !== null && ("data" in document || "errors" in document);
  return isDocument ? undefined : JSON.stringify(document).slice(0, 200);
}

/** Suggests a setting only on the same host: the operator decides whether another host may get the key. */
function checkRedirect({ status, header }: ResponseSample, baseUrl: string): CheckResult {
  const to = header("location") ?? "";
  const message = `redirected (${status}) to ${to === "" ? "no address" : to}`;
  const result = failed("address-redirects", message, { details: { status, to } });
  if (!URL.canParse(to, baseUrl)) return result;
  const { origin, hostname, protocol, pathname } = new URL(to, baseUrl);
  const moved = /^(.*)\/api\/products\/1\/?$/.exec(pathname)?.[1];
  const encrypted = protocol === "https:" || isLoopback(hostname);
  if (!encrypted || hostname !== new URL(baseUrl).hostname || moved === undefined) return result;
  return { ...result, setting: { path: ["base_url"], value: `${origin}${moved}` } };
}

function checkKey({ samples, reads }: ServiceInput): CheckResult | undefined {
  const { product, upload, uploads, wrongKey } = samples;
  const refused = reads.find(({ status }) => status === 401);
  if (refused !== undefined && isResponse(product)) {
    const problem = refused.problem ?? { code: "unauthorized", message: `${refused.request} returned 401` };
    return failedBy("key-refused", problem);
  }
  if (product.type === "failed" || uploads === undefined) return undefined;
  const problem = reads.find(({ status }) => status === 403)?.problem;
  if (problem !== undefined && reads.every(({ status }) => status === 403)) {
    return failed("key-forbidden", problem.message, { details: { problem } });
  }
  const conclusive = [product, uploads, upload].filter(isConclusive).filter(({ status }) => status !== 403);
  const accepted = conclusive.find(({ status }) => status < 400) ?? conclusive[0];
  // If an invalid key gets a response too, the response to this key proves nothing.
  const unchecked = isConclusive(wrongKey) && !isKeyRefused(wrongKey);
  if (accepted === undefined || unchecked) {
    const statuses = reads.map(({ status }) => status);
    const reason = unchecked ? "; an invalid key gets a response too" : "";
    const message = `the responses (${statuses.join(", ")}) do not depend on the key${reason}`;
    return unknown("key-unknown", message, { details: { statuses, key_is_checked: !unchecked } });
  }
  const { request, status } = accepted;
  return ok("key-accepted", `${request} returned ${status}`, { details: { request, status } });
}

function isKeyRefused({ status }: ResponseSample): boolean {
  return status === 401 || status === 403;
}

function checkWrongKey({ samples: { wrongKey } }: ServiceInput): CheckResult | undefined {
  if (wrongKey === undefined) return undefined;
  if (!isConclusive(wrongKey)) return unknown("wrong-key-unknown", "no conclusive response");
  const { status } = wrongKey;
  const details = { status };
  return isKeyRefused(wrongKey)
    ? ok("wrong-key-refused", `an invalid key is refused (${status})`, { details })
    : warning("wrong-key-accepted", `an invalid key gets ${status}`, { details });
}

function checkVersion({ samples: { product, otherVersion } }: ServiceInput): CheckResult | undefined {
  if (isResponse(product) && product.status === 406) {
    const missing = { code: "version-not-accepted", message: `${product.request} returned 406` };
    return failedBy("version-refused", product.problem ?? missing);
  }
  if (otherVersion === undefined) return undefined;
  if (!isConclusive(otherVersion)) return unknown("version-unknown", "no conclusive response");
  const { status } = otherVersion;
  const details = { status };
  return status === 406 || status === 400 || status === 415
    ? ok("version-checked", `version 1 is accepted; an unknown version is refused (${status})`, { details })
    : warning("version-unchecked", `an unknown version gets ${status}`, { details });
}

function checkMediaTypes({ samples: { moreAccept }, contentType }: ServiceInput): CheckResult | undefined {
  if (moreAccept === undefined) return undefined;
  if (!isConclusive(moreAccept)) return unknown("media-types-unknown", "no conclusive response");
  const { status } = moreAccept;
  const details = { status };
  if (status !== 406 && status !== 415) {
    return ok("media-types-lenient", `an additional parameter in Accept is accepted (${status})`, {
      details,
    });
  }
  const [plain = "", ...parameters] = contentType.split(";");
  if (parameters.length === 0) {
    const message = `an additional parameter in Accept is refused (${status}), as JSON:API requires`;
    return ok("media-types-strict", message, { details });
  }
  const message = `parameters of media types are refused (${status}), but content_type is ${contentType}`;
  return warning("media-types-conflict", message, {
    details: { status, content_type: contentType },
    setting: { path: ["profile", "content_type"], value: plain },
  });
}

function checkErrors({ responses }: ServiceInput): CheckResult | undefined {
  if (responses.length === 0) return undefined;
  const errors = responses.filter(({ status, body }) => status >= 400 && body.type !== "empty");
  const error = errors.find((each) => !isTransient(each)) ?? errors[0];
  if (error === undefined) return unknown("errors-unknown", "no response contained an error with a body");
  const { status, body, header } = error;
  const document = body.type === "json" ? body.document : undefined;
  const details = { status };
  if (readErrors(document).length === 0) {
    const message = `neither JSON:API errors nor problem details (${status})`;
    return warning("errors-other", message, { details });
  }
  const isList =
    typeof document === "object" && document !== null && Array.isArray(Reflect.get(document, "errors"));
  return isList && !/problem\+json/.test(header("content-type") ?? "")
    ? ok("errors-jsonapi", `JSON:API errors (${status})`, { details })
    : ok("errors-problem", `problem details, RFC 9457 (${status})`, { details });
}

function checkUploadsQuery({ samples: { uploads, parameter } }: ServiceInput): CheckResult | undefined {
  if (uploads === undefined) return undefined;
  const path = ["profile", "uploads_query"];
  const status = isResponse(uploads) ? uploads.status : undefined;
  const succeeded = isResponse(uploads) && uploads.status < 300;
  const count = succeeded && uploads.body.type === "json" ? countListed(uploads.body.document) : undefined;
  if (count === 0) {
    const setting = { path, value: parameter };
    return ok("uploads-query-works", `${parameter} filters the list`, { details: { parameter }, setting });
  }
  const setting = { path, value: null };
  if (count !== undefined) {
    const message = `${parameter} is ignored: the list of an unknown upload has ${count}`;
    return warning("uploads-query-ignored", message, { details: { parameter, count }, setting });
  }
  const details = { parameter, status };
  if (succeeded || status === 400 || status === 405 || status === 422) {
    const message = `a list of uploads by ${parameter} returned ${status}${succeeded ? " without a list" : ""}`;
    return warning("uploads-query-refused", message, { details, setting });
  }
  const message = `a list of uploads by ${parameter} returned ${status ?? "no response"}`;
  return unknown("uploads-query-unknown", message, { details });
}
