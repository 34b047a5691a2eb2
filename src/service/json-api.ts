import { z } from "zod";
import type { ApiError } from "../model/outcome.ts";
import type { ResponseBody } from "./response-body.ts";

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
  errors: z.array(z.looseObject({})),
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

/** The media type and one of the members that every document has (JSON:API §Top Level). */
export function isJsonApiDocument(body: ResponseBody | undefined): boolean {
  return body?.type === "json" && body.isJsonApi && documentSchema.safeParse(body.document).success;
}
