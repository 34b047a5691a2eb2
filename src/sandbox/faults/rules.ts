import { createHash } from "node:crypto";
import { z } from "zod";
import type { RequestLogEntry } from "../request-log.ts";
import { type Effect, FAULTS, type FaultName, type FaultSettings } from "./catalogue.ts";

const DURATION = /^(\d+(?:\.\d+)?)(ms|s|m)$/;
const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000 };
const MAX_MS = 3_600_000;

function readDuration(text: string): number {
  const [, count, unit = ""] = DURATION.exec(text) ?? [];
  return Math.round(Number(count) * (UNIT_MS[unit] ?? Number.NaN));
}

/** Text such as `500ms` on the outside, milliseconds once parsed. */
const duration = z
  .string()
  .regex(DURATION, "not a duration: write a number and a unit, such as 500ms, 2s or 1m")
  .refine((text) => !DURATION.test(text) || readDuration(text) <= MAX_MS, "longer than 60m")
  .transform(readDuration);

function isFaultName(name: string): name is FaultName {
  return Object.hasOwn(FAULTS, name);
}

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
    fault: z
      .enum(Object.keys(FAULTS).filter(isFaultName))
      .describe("What happens; docs/reference/sandbox.md lists the faults"),
    effect: z
      .enum(["none", "before", "after"])
      .optional()
      .describe("Whether the request takes effect: never, before the fault, or after it"),
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
    const refuse = (key: string, message: string, hint: string) =>
      context.addIssue({ code: "custom", message, params: { code: "bad-fault-rule", hint, key } });
    const { effects, takes, storage } = FAULTS[rule.fault];
    const effect = rule.effect ?? effects[0];
    for (const key of settingNames) {
      if (rule[key] === undefined || takes.includes(key)) continue;
      const others = takes.length === 0 ? "" : `; this fault takes ${takes.join(", ")}`;
      refuse(key, `"${key}" says nothing about the fault ${rule.fault}`, `Leave it out${others}.`);
    }
    if (!effects.includes(effect)) {
      const hint = `Possible here: ${effects.join(", ")}.`;
      refuse("effect", `the fault ${rule.fault} cannot have \`effect: ${effect}\``, hint);
    }
    if (rule.late !== undefined && takes.includes("late") && effect !== "after") {
      refuse("late", '"late" needs `effect: after`', "Leave it out, or write `effect: after`.");
    }
    if (rule.fault === "status" && rule.status === undefined) {
      refuse("fault", "the fault status needs a status", "Write one, such as `status: 503`.");
    }
    if (rule.when.side === "storage" && (!storage || (effect === "after" && rule.fault !== "delay"))) {
      const name = storage ? `${rule.fault} with \`effect: after\`` : rule.fault;
      const hint = "Leave `side: storage` out, or take another fault.";
      refuse("when", `object storage has no fault ${name}`, hint);
    }
  });

const settingNames: readonly (keyof FaultSettings)[] = ["for", "late", "as", "status", "pointer", "to"];

/** The faults to inject: `draftsync sandbox --faults FILE` reads them from YAML. The first rule with a fault for a call decides. */
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

/** The fault of a call. */
export interface ChosenFault {
  readonly rule: FaultRules["rules"][number];
  /** Of the rule in its list, from 1. */
  readonly number: number;
  readonly effect: Effect;
}

/** Chooses the fault of a call, or none. Called once for each call, in the order of arrival. */
type FaultChooser = (call: Pick<RequestLogEntry, "side" | "method" | "path">) => ChosenFault | undefined;

/**
 * Makes a chooser. Every rule counts all calls that match it, whatever other rules do with them, and draws its own number
 * for each: only the seed and the order of its own calls decide what a rule does.
 */
export function makeFaultChooser({ seed, rules }: FaultRules): FaultChooser {
  const counted = rules.map((rule, index) => ({
    rule,
    number: index + 1,
    effect: rule.effect ?? FAULTS[rule.fault].effects[0],
    path: compilePath(rule.when.path ?? "/**"),
    seen: 0,
    left: rule.times === "always" ? Number.POSITIVE_INFINITY : rule.times,
  }));
  return (call) => {
    let chosen: (typeof counted)[number] | undefined;
    for (const each of counted) {
      const { side, method, nth, probability } = each.rule.when;
      if (side !== call.side || (method ?? call.method) !== call.method || !each.path.test(call.path))
        continue;
      each.seen += 1;
      const strikes = each.seen >= nth && draw(seed, each.number, each.seen) < probability;
      if (strikes && each.left > 0) chosen ??= each;
    }
    if (chosen !== undefined) chosen.left -= 1;
    return chosen;
  };
}

/** A number in [0, 1) that only its arguments decide. */
function draw(...from: readonly number[]): number {
  return createHash("sha256").update(from.join(":")).digest().readUInt32BE(0) / 2 ** 32;
}

function compilePath(pattern: string): RegExp {
  const parts = pattern.split(/(\*\*|\*)/).map((part) => {
    if (part === "**") return ".*";
    return part === "*" ? "[^/]*" : part.replace(/[.+?^${}()|[\]\\]/g, "\\$&");
  });
  return new RegExp(`^${parts.join("")}$`);
}
