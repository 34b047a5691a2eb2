import { z } from "zod";

/**
 * How an operation ended.
 *
 * | outcome | evidence |
 * |---|---|
 * | done | a complete, valid response that shows it |
 * | rejected | a complete, well-formed refusal |
 * | not_sent | no byte of the request was written |
 * | unknown | anything else: the call may or may not have taken effect ("in doubt") |
 */
export const outcomes = ["done", "rejected", "not_sent", "unknown"] as const;

/** One of {@link outcomes}. */
export type Outcome = (typeof outcomes)[number];

const text = z.string();
const optionalText = text.exactOptional();

const apiErrorSchema = z
  .looseObject({
    status: optionalText,
    code: text.exactOptional(),
    title: optionalText,
    detail: optionalText,
    source: z
      .looseObject({ pointer: optionalText, parameter: optionalText, header: optionalText })
      .readonly()
      .exactOptional(),
  })
  .readonly()
  .describe("A JSON:API error object of the service, unchanged");

/** A JSON:API error object, kept whole; only the members that draftsync reads are named. */
export type ApiError = z.output<typeof apiErrorSchema>;

/** As events have it. */
export const failureSchema = z.object({
  code: text.describe("Stable, kebab-case"),
  message: text.describe("One sentence; may contain text from the service"),
  subject: optionalText.describe(
    "Request or file before the first colon of the message; the rest is the cause",
  ),
  hint: optionalText,
  status: z.int().exactOptional(),
  errors: z.array(apiErrorSchema).readonly(),
  stops: z
    .enum(["operation", "draft", "run"])
    .describe("What stops: only the operation, its draft, or the run"),
});

/** Why a call did not end `done`. Holds no secrets. */
export type CallFailure = Readonly<z.output<typeof failureSchema>>;

/** The sentence of a failure without the request or the file that it begins with. */
export function causeOf({ message, subject }: Pick<CallFailure, "message" | "subject">): string {
  const lead = `${subject}: `;
  return subject !== undefined && message.startsWith(lead) ? message.slice(lead.length) : message;
}

/** As the ledger has it: keeps unknown members. */
export const storedFailureSchema: z.ZodType<CallFailure> = failureSchema.loose();

/** The end of a call, after its retries. `attempts` counts requests that were dispatched. */
export type CallResult<T> =
  | { readonly outcome: "done"; readonly status: number; readonly value: T; readonly attempts: number }
  | {
      readonly outcome: "rejected" | "not_sent" | "unknown";
      readonly failure: CallFailure;
      readonly attempts: number;
    };
