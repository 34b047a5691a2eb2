import { z } from "zod";
import { FAULTS, type FaultName, isFaultName, type Parameter } from "./catalogue.ts";

const DURATION = /^(\d+(?:\.\d+)?)(ms|s|m)$/;
const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000 };
const LONGEST_MS = 3_600_000;

function readDuration(text: string): number {
  const [, count, unit = ""] = DURATION.exec(text) ?? [];
  return Math.round(Number(count) * (UNIT_MS[unit] ?? Number.NaN));
}

/** Text such as `500ms` on the outside, milliseconds once parsed. */
const duration = z
  .string()
  .regex(DURATION, "not a duration: write a number and a unit, such as 500ms, 2s or 1m")
  .refine((text) => !DURATION.test(text) || readDuration(text) <= LONGEST_MS, "longer than 60m")
  .transform(readDuration);

const faultName = z.enum(Object.keys(FAULTS).filter(isFaultName));

const whenSchema = z
  .strictObject({
    side: z.enum(["service", "storage"]).default("service").describe("The interface, or object storage"),
    method: z.enum(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]).optional().describe("Any unless named"),
    path: z
      .string()
      .regex(/^\//, "must begin with a slash, such as /api/products")
      .optional()
      .describe("The path without its query; * stands for a part without slash, ** for anything"),
    nth: z.int().min(1).default(1).describe("The first matching call that may get the fault, counted from 1"),
    probability: z.number().min(0).max(1).default(1).describe("Of each call from then on, from 0 to 1"),
  })
  .prefault({})
  .describe("Which calls");

const ruleSchema = z
  .strictObject({
    fault: faultName.describe("What happens; docs/reference/sandbox.md lists the faults"),
    effect: z
      .enum(["none", "before", "after"])
      .optional()
      .describe("Whether the request is carried out: not, before the fault, or after it"),
    when: whenSchema,
    times: z
      .union([z.int().min(1), z.literal("always")])
      .default(1)
      .describe("How many calls get it at most, or always"),
    for: duration.optional().describe("How long, such as 2s"),
    late: duration.optional().describe("With `effect: after`, how long after the fault, such as 500ms"),
    as: z.enum(["seconds", "date", "past-date"]).optional().describe("How Retry-After is written"),
    status: z.int().min(400).max(599).optional().describe("The status answered, 400 to 599"),
    pointer: z.string().regex(/^\//, "must begin with a slash").optional().describe("A JSON pointer"),
    to: z
      .url({ protocol: /^https?$/, error: "must be an http or https URL" })
      .optional()
      .describe("A URL"),
  })
  .superRefine((rule, context) => {
    for (const misuse of misusesOf(rule)) {
      const { message, hint, key } = misuse;
      context.addIssue({ code: "custom", message, params: { code: "bad-fault-rule", hint, key } });
    }
  });

/**
 * What the sandbox is to do wrong: `draftsync sandbox --faults FILE` reads it from YAML. A call gets the fault of the
 * first rule that has one for it.
 */
export const FaultRulesSchema = z
  .strictObject({
    seed: z
      .int()
      .min(0)
      .default(1)
      .describe("The same seed and the same order of calls give the same faults"),
    rules: z.array(ruleSchema).min(1).describe("The rules, the first that fits being taken"),
  })
  .describe("Faults of the sandbox");

/** Parsed rules; times in milliseconds. */
export type FaultRules = z.output<typeof FaultRulesSchema>;

/** One of {@link FaultRules}. */
export type FaultRule = FaultRules["rules"][number];

interface Misuse {
  readonly message: string;
  readonly hint: string;
  readonly key: string;
}

const PARAMETERS: readonly Parameter[] = ["for", "late", "as", "status", "pointer", "to"];

/** A setting that the fault of a rule does not have. */
function misusesOf(rule: {
  readonly fault: FaultName;
  readonly effect?: FaultRule["effect"];
  readonly when: { readonly side: "service" | "storage" };
  readonly [parameter: string]: unknown;
}): Misuse[] {
  const { effects, takes, storage } = FAULTS[rule.fault];
  const effect = rule.effect ?? effects[0];
  const misuses: Misuse[] = PARAMETERS.filter(
    (parameter) => rule[parameter] !== undefined && !takes.includes(parameter),
  ).map((key) => ({
    key,
    message: `"${key}" says nothing about the fault ${rule.fault}`,
    hint: takes.length === 0 ? "Leave it out." : `Leave it out; this fault takes ${takes.join(", ")}.`,
  }));
  if (!effects.includes(effect)) {
    const message = `the fault ${rule.fault} cannot have \`effect: ${effect}\``;
    misuses.push({ key: "effect", message, hint: `Possible here: ${effects.join(", ")}.` });
  }
  if (rule.late !== undefined && takes.includes("late") && effect !== "after") {
    const hint = "Leave it out, or write `effect: after`.";
    misuses.push({ key: "late", message: '"late" needs `effect: after`', hint });
  }
  if (rule.fault === "status" && rule.status === undefined) {
    const hint = "Write one, such as `status: 503`.";
    misuses.push({ key: "fault", message: "the fault status needs a status", hint });
  }
  if (rule.when.side === "storage" && (!storage || (effect === "after" && rule.fault !== "delay"))) {
    const what = storage ? `${rule.fault} with \`effect: after\`` : rule.fault;
    const hint = "Leave `side: storage` out, or take another fault.";
    misuses.push({ key: "when", message: `object storage has no fault ${what}`, hint });
  }
  return misuses;
}
