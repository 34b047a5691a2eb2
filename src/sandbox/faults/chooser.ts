import { createHash } from "node:crypto";
import type { RequestLogEntry } from "../request-log.ts";
import { type Effect, FAULTS } from "./catalogue.ts";
import type { FaultRule, FaultRules } from "./rules.ts";

/** The fault that a call gets. */
export interface ChosenFault {
  readonly rule: FaultRule;
  /** Of the rule in its list, counted from 1. */
  readonly number: number;
  readonly effect: Effect;
}

/** Chooses the fault of a call, or none. To be asked once for each call, in the order of arrival. */
export type FaultChooser = (
  call: Pick<RequestLogEntry, "side" | "method" | "path">,
) => ChosenFault | undefined;

/**
 * Makes a chooser. Every rule counts all calls that fit it, whatever other rules do with them, and draws a number of
 * its own for each: so nothing but the seed and the order of its own calls decides what a rule does.
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
    if (chosen === undefined) return undefined;
    chosen.left -= 1;
    return { rule: chosen.rule, number: chosen.number, effect: chosen.effect };
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
