import { createHash } from "node:crypto";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import type { MiddlewareHandler, Next } from "hono";
import type { Env, RequestContext, SandboxContext } from "../env.ts";
import { BrokenOff, drainBody, holdBody } from "../request-body.ts";
import type { RequestLogEntry } from "../request-log.ts";
import { type Effect, FAULTS, isWireFault, type WireFault } from "./catalogue.ts";
import { ANSWERS } from "./responses.ts";
import type { FaultRule, FaultRules } from "./rules.ts";
import { statusSeen, type WholeAnswer, WIRES, wait } from "./wire.ts";

/** Bytes that are sent past the answer of the app, once the entry is in the log. */
export interface Sending {
  readonly status: number | null;
  send(): Promise<void>;
}

const LATE_MS = 500;
const DELAY_MS = 1000;
const HOLD_MS = 600_000;

/**
 * Makes the faults that the rules ask for:
 *
 *     choose ──► effect before: carry out ──► the fault ──► effect after: wait, carry out
 *        └ none: the request is read and goes no further
 */
export function makeFaultGate(sandbox: SandboxContext, rules: FaultRules): MiddlewareHandler<Env> {
  const choose: FaultChooser = makeFaultChooser(rules);
  return async (c, next) => {
    const entry = c.get("entry");
    const chosen = choose(entry);
    if (chosen === undefined) return next();
    if (chosen.rule.fault === "delay") return delay({ c, sandbox, chosen, next });
    if (chosen.effect === "before") await next();
    else await replay(c, sandbox);
    if (c.error instanceof BrokenOff) return;
    const answered = chosen.effect === "before" ? c.res : undefined;
    mark(c, chosen, answered?.status ?? null);
    await play({ c, sandbox, chosen, next, answered });
  };
}

/** Sends what a fault has to send past the app, when there is such a thing. */
export async function sendPastApp(c: RequestContext): Promise<void> {
  const sending = c.get("sending");
  if (sending === undefined) return;
  await sending.send();
  c.res = undefined;
  c.res = RESPONSE_ALREADY_SENT;
}

interface Play {
  readonly c: RequestContext;
  readonly sandbox: SandboxContext;
  readonly chosen: ChosenFault;
  readonly next: Next;
  readonly answered?: Response | undefined;
}

function mark(c: RequestContext, { rule, number, effect }: ChosenFault, answered: number | null): void {
  c.get("entry").fault = { rule: number, name: rule.fault, effect, answered };
}

async function delay({ c, sandbox, chosen, next }: Play): Promise<void> {
  const ms = chosen.rule.for ?? DELAY_MS;
  if (chosen.effect === "after") await wait(ms, sandbox.closing);
  await next();
  mark(c, chosen, c.res.status);
  if (chosen.effect === "before") await wait(ms, sandbox.closing);
}

async function play(scene: Play): Promise<void> {
  const { c, sandbox, chosen, answered } = scene;
  const { rule, effect } = chosen;
  const { fault } = rule;
  if (isWireFault(fault)) return playOnWire(scene, fault);
  if (fault === "delay") return;
  const response = await ANSWERS[fault]({ c, settings: sandbox.settings, rule, answered });
  if (response === undefined) {
    delete c.get("entry").fault;
    return;
  }
  if (effect === "after") return respondThenApply(scene, await wholeOf(response));
  c.res = undefined;
  c.res = response;
}

async function playOnWire(scene: Play, fault: WireFault): Promise<void> {
  const { c, sandbox, chosen } = scene;
  const answered = scene.answered === undefined ? undefined : await wholeOf(scene.answered);
  const { outgoing } = c.env;
  const holdMs = chosen.rule.for ?? HOLD_MS;
  c.set("sending", {
    status: statusSeen(fault, answered),
    send: async () => {
      await WIRES[fault]({ outgoing, answered, holdMs, closing: sandbox.closing });
      await applyLate(scene);
    },
  });
}

function respondThenApply(scene: Play, { status, headers, body }: WholeAnswer): void {
  const { outgoing } = scene.c.env;
  scene.c.set("sending", {
    status,
    send: async () => {
      outgoing.writeHead(status, headers).end(body);
      await applyLate(scene);
    },
  });
}

async function applyLate({ chosen, sandbox, next }: Play): Promise<void> {
  if (chosen.effect !== "after") return;
  await wait(chosen.rule.late ?? LATE_MS, sandbox.closing);
  if (!sandbox.closing.aborted) await next();
}

/** Takes the request in as a server does that will not, or not yet, carry it out. */
async function replay(c: RequestContext, { settings }: SandboxContext): Promise<void> {
  if (c.get("entry").side === "storage") await drainBody(c.env.incoming);
  else await holdBody(c, settings);
}

async function wholeOf(response: Response): Promise<WholeAnswer> {
  const body = Buffer.from(await response.arrayBuffer());
  return { status: response.status, headers: Object.fromEntries(response.headers), body };
}

/** The fault that a call gets. */
interface ChosenFault {
  readonly rule: FaultRule;
  /** Of the rule in its list, counted from 1. */
  readonly number: number;
  readonly effect: Effect;
}

/** Chooses the fault of a call, or none. To be asked once for each call, in the order of arrival. */
type FaultChooser = (call: Pick<RequestLogEntry, "side" | "method" | "path">) => ChosenFault | undefined;

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
