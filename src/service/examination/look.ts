import { systemCodeOf } from "../../model/errors.ts";
import type { Problem } from "../../model/examination.ts";
import type { CallResult } from "../../model/outcome.ts";
import type { Exchange } from "../exchange-handler.ts";
import type { HeaderLookup } from "../rate-hints.ts";
import type { Redactor } from "../redact.ts";
import type { ResponseBody } from "../response-body.ts";
import { readResponseBody } from "../response-body.ts";

/** What came of one call, as it was seen. Nothing in it holds the API key. */
export type Look = AnswerLook | FailedLook;

/** A complete answer. */
export interface AnswerLook {
  readonly type: "answer";
  /** Method and path. */
  readonly request: string;
  readonly status: number;
  readonly header: HeaderLookup;
  readonly body: ResponseBody;
  /** From dispatch to the last byte. */
  readonly ms: number;
  /** Wall clock when it was complete, epoch milliseconds. */
  readonly at: number;
  /** What the client makes of it, when that is not what was asked for. */
  readonly problem: Problem | undefined;
}

/** No complete answer. */
export interface FailedLook {
  readonly type: "failed";
  readonly request: string;
  readonly problem: Problem;
  /** The system's, or OpenSSL's: `CERT_HAS_EXPIRED`. */
  readonly systemCode: string | undefined;
}

/** What a {@link Look} is made of. */
export interface LookParts {
  readonly request: string;
  /** The last exchange, unless the call never got that far. */
  readonly exchange: { readonly ended: Exchange; readonly ms: number } | undefined;
  readonly result: CallResult<unknown>;
  readonly redactor: Redactor;
  /** Wall clock, epoch milliseconds. */
  readonly at: number;
}

/** Makes a {@link Look} of how a call ended. */
export function makeLook({ request, exchange, result, redactor, at }: LookParts): Look {
  const problem = result.outcome === "done" ? undefined : problemOf(result.failure);
  const ended = exchange?.ended;
  if (exchange !== undefined && ended?.type === "answer") {
    const { status, header } = ended.answer;
    return {
      type: "answer",
      request,
      status,
      header: (name) => {
        const value = header(name);
        return value === undefined ? undefined : redactor.text(value);
      },
      body: readResponseBody(ended.answer, redactor),
      ms: exchange.ms,
      at,
      problem,
    };
  }
  const systemCode = ended?.type === "answer" ? undefined : systemCodeOf(ended?.error);
  const nothing = { code: "no-answer", message: `${request}: no answer came` };
  return { type: "failed", request, problem: problem ?? nothing, systemCode };
}

function problemOf({ code, message, hint }: Problem): Problem {
  return { code, message, hint };
}

/** Whether a call was made, and answered. */
export function isAnswer(look: Look | undefined): look is AnswerLook {
  return look?.type === "answer";
}

/** Whether an answer is beside the question: the service is busy, or broken at this moment. */
export function isBeside({ status }: AnswerLook): boolean {
  return status === 425 || status === 429 || status >= 500;
}
