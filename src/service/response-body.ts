import { isUtf8 } from "node:buffer";
import { brotliDecompressSync, gunzipSync, inflateSync } from "node:zlib";
import { z } from "zod";
import type { ApiError } from "../model/outcome.ts";
import type { HttpResponse } from "./exchange-handler.ts";
import { maxResponseBytes } from "./exchange-handler.ts";
import type { Redactor } from "./redact.ts";

/** The body of an answer. Anything that is JSON is read as JSON; the media type says whether it is JSON:API, or problem details (RFC 9457). */
export type ResponseBody =
  | { readonly type: "empty" }
  | {
      readonly type: "json";
      readonly document: unknown;
      readonly isJsonApi: boolean;
      readonly isProblem: boolean;
    }
  /** Not JSON: its first 200 characters, white space run together. */
  | { readonly type: "text"; readonly excerpt: string; readonly html: boolean }
  /** Not even text. */
  | { readonly type: "unreadable"; readonly problem: string };

const excerptLength = 200;

/** Documents of this interface have some ten levels; what is made of a document must not run out of stack. */
const deepest = 100;

const decoders: ReadonlyMap<string, (body: Buffer) => Buffer> = new Map([
  ["identity", (body) => body],
  ["gzip", (body) => gunzipSync(body, { maxOutputLength: maxResponseBytes })],
  ["x-gzip", (body) => gunzipSync(body, { maxOutputLength: maxResponseBytes })],
  ["deflate", (body) => inflateSync(body, { maxOutputLength: maxResponseBytes })],
  ["br", (body) => brotliDecompressSync(body, { maxOutputLength: maxResponseBytes })],
]);

/**
 * Reads the body of an answer, secrets taken out. No coding is asked for, but a server may use one all the same
 * (RFC 9110 §12.5.3).
 */
export function readResponseBody(answer: HttpResponse, redactor: Redactor): ResponseBody {
  const decoded = decode(answer);
  if (decoded.type === "unreadable") return decoded;
  if (!/\S/.test(decoded.text)) return { type: "empty" };
  const mediaType = answer.header("content-type") ?? "";
  try {
    const document: unknown = JSON.parse(decoded.text);
    // Each level opens and closes: most answers are too short to be looked through.
    return decoded.text.length > 2 * deepest && isDeeperThan(document, deepest)
      ? { type: "unreadable", problem: `its body has more than ${deepest} levels` }
      : {
          type: "json",
          document: redactor.json(document, decoded.text),
          isJsonApi: isOfType(mediaType, "application/vnd.api+json"),
          isProblem: isOfType(mediaType, "application/problem+json"),
        };
  } catch {
    const excerpt = redactor.text(decoded.text).replace(/\s+/g, " ").trim().slice(0, excerptLength);
    return {
      type: "text",
      excerpt,
      html: /html/i.test(mediaType) || /^<(!doctype html|html)/i.test(excerpt),
    };
  }
}

/** Parameters are ignored (JSON:API §Content Negotiation). */
function isOfType(mediaType: string, wanted: string): boolean {
  return mediaType.split(";")[0]?.trim().toLowerCase() === wanted;
}

function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  return Object.values(value).some((member) => isDeeperThan(member, levels - 1));
}

type Decoded =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "unreadable"; readonly problem: string };

function decode(answer: HttpResponse): Decoded {
  const coding = (answer.header("content-encoding") ?? "identity").trim().toLowerCase();
  const decoder = decoders.get(coding);
  if (decoder === undefined) return { type: "unreadable", problem: "its content coding is not known" };
  try {
    const bytes = answer.body.length === 0 ? answer.body : decoder(answer.body);
    return isUtf8(bytes) ? { type: "text", text: bytes.toString().replace(/^\ufeff/, "") } : noText;
  } catch {
    return noText;
  }
}

const noText = {
  type: "unreadable",
  problem: "its body is not UTF-8 text, or not in the content coding it names",
} as const;

const textSchema = z
  .union([z.string(), z.number().transform(String)])
  .optional()
  .catch(undefined);
const sourceSchema = z
  .looseObject({ pointer: textSchema, parameter: textSchema, header: textSchema })
  .optional()
  .catch(undefined);
const apiErrorSchema = z.looseObject({
  status: textSchema,
  code: textSchema,
  title: textSchema,
  detail: textSchema,
  source: sourceSchema,
});
const errorsSchema = z.object({ errors: z.array(apiErrorSchema) });

/**
 * The errors of an answer, each kept whole: JSON:API error objects, or one `application/problem+json` (RFC 9457).
 * Anything else has none.
 */
export function readErrors(document: unknown): readonly ApiError[] {
  const listed = errorsSchema.safeParse(document);
  if (listed.success) return listed.data.errors.map(withoutAbsent);
  const problem = apiErrorSchema.safeParse(document);
  if (!problem.success) return [];
  const isProblem = problem.data.title !== undefined || problem.data.detail !== undefined;
  return isProblem ? [withoutAbsent(problem.data)] : [];
}

/** Members that are absent are left out, not `undefined`. */
function withoutAbsent(error: z.output<typeof apiErrorSchema>): ApiError {
  return Object.fromEntries(Object.entries(error).filter(([, member]) => member !== undefined));
}

const errorDocumentSchema = z.looseObject({
  // An error object has at least one member (JSON:API §Error Objects).
  errors: z.array(z.looseObject({}).refine((error) => Object.keys(error).length > 0)),
  data: z.never().optional(),
});
const documentSchema = z.union([
  errorDocumentSchema,
  z.looseObject({ data: z.union([z.looseObject({}), z.array(z.unknown()), z.null()]) }),
  z.looseObject({ meta: z.looseObject({}) }),
]);

/** The media type and an `errors` array of objects (JSON:API §Error Objects). */
export function isErrorDocument(body: ResponseBody): boolean {
  return body.type === "json" && body.isJsonApi && errorDocumentSchema.safeParse(body.document).success;
}

/** A refusal that a publish does not count as one (SERVICE, errors). */
export function isProblemDocument(body: ResponseBody): boolean {
  return body.type === "json" && body.isProblem && apiErrorSchema.safeParse(body.document).success;
}

/** One of the members that every document has (JSON:API §Top Level). */
export function isDocument(document: unknown): boolean {
  return documentSchema.safeParse(document).success;
}

/** {@link isDocument}, of the media type. */
export function isJsonApiDocument(body: ResponseBody | undefined): boolean {
  return body?.type === "json" && body.isJsonApi && isDocument(body.document);
}
