import { apiError } from "./api-error.ts";
import type { RequestContext } from "./env.ts";

/**
 * Reads a numeric path parameter. "Numeric path parameters must be numbers": anything but the plain decimal form of
 * a positive number that is exact in JSON is a malformed request (400), not a thing that was not found.
 *
 * @throws ApiError 400 with `source.parameter`.
 */
export function readPathId(c: RequestContext, parameter: string): number {
  const text = c.req.param(parameter) ?? "";
  const value = Number(text);
  if (!/^[1-9]\d*$/.test(text) || !Number.isSafeInteger(value)) {
    throw apiError({
      status: 400,
      code: "not-a-number",
      detail: `The path parameter ${parameter} must be a number.`,
      source: { parameter },
    });
  }
  return value;
}
