import type { Attributes } from "../model/resource.ts";
import type { HeaderLookup } from "../service/rate-hints.ts";
import type { ResponseBody } from "../service/response-body.ts";
import type { Problem } from "./check.ts";

/** The result of one call. It never contains the API key. */
export type Sample = ResponseSample | FailedSample;

/** A complete response. */
export interface ResponseSample {
  readonly type: "response";
  /** Method and path. */
  readonly request: string;
  readonly status: number;
  readonly header: HeaderLookup;
  readonly body: ResponseBody;
  /** From dispatch to the last byte. */
  readonly ms: number;
  /** Wall clock on completion, epoch milliseconds. */
  readonly at: number;
  /** Why the client does not accept the response, if it does not. */
  readonly problem: Problem | undefined;
}

/** No complete response. */
export interface FailedSample {
  readonly type: "failed";
  readonly request: string;
  readonly problem: Problem;
  /** The code of the system or of OpenSSL, such as `CERT_HAS_EXPIRED`. */
  readonly systemCode: string | undefined;
}

/** The negotiated TLS version and the certificate of the service. */
export interface TlsSample {
  readonly protocol: string;
  readonly subject: string;
  readonly issuer: string;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
}

/** The results of the read calls. A call that was not sent is absent. */
export interface Samples {
  readonly product: Sample;
  /** An upload that cannot exist. */
  readonly upload?: Sample;
  /** The list of that upload alone. */
  readonly uploads?: Sample;
  /** With an API version that cannot exist. */
  readonly otherVersion?: Sample;
  /** With one more parameter in `Accept`. */
  readonly moreAccept?: Sample;
  /** With an invalid key. */
  readonly wrongKey?: Sample;
  readonly tls: TlsSample | undefined;
  /** The query parameter of {@link uploads}. */
  readonly parameter: string;
}

/** The largest number of read calls; none is retried. */
export const maxSamples = 6;

/** The methods of an update. */
export type ProbeMethod = "PATCH" | "PUT";

/** One probe: an update without attributes, and its result. */
export interface Probe {
  readonly method: ProbeMethod;
  readonly sample: Sample;
  /** Absent when the response does not contain the file. */
  readonly file: ProbedFile | undefined;
}

/** The file in the response to a probe. */
export interface ProbedFile {
  readonly type: string;
  readonly id: string | undefined;
  /** Without empty texts, which some services return for attributes that are not set. */
  readonly attributes: Attributes;
}

/** Whether a call was sent and has a response. */
export function isResponse(sample: Sample | undefined): sample is ResponseSample {
  return sample?.type === "response";
}

/** Whether a response says nothing about the request: the service is busy or fails. */
export function isTransient({ status }: ResponseSample): boolean {
  return status === 425 || status === 429 || status >= 500;
}

/** Whether a call has a response that says something about the request. */
export function isConclusive(sample: Sample | undefined): sample is ResponseSample {
  return isResponse(sample) && !isTransient(sample);
}
