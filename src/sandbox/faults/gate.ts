import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import type { MiddlewareHandler, Next } from "hono";
import type { Env, RequestContext, SandboxContext } from "../env.ts";
import { BrokenOff, chunksOf, receiveBody } from "../requests.ts";
import { FAULTS, type WholeResponse, wait } from "./catalogue.ts";
import { type ChosenFault, type FaultRules, makeFaultChooser } from "./rules.ts";

const DELAY_MS = 1000;
const LATE_MS = 500;

/**
 * Injects the faults that the rules ask for:
 *
 *     choose ──► effect before: process ──► fault ──► effect after: wait, process
 *        └ none: the request is received and goes no further
 */
export function makeFaultGate(sandbox: SandboxContext, rules: FaultRules): MiddlewareHandler<Env> {
  const choose = makeFaultChooser(rules);
  return async (c, next) => {
    const chosen = choose(c.get("entry"));
    if (chosen === undefined) return next();
    const { make } = FAULTS[chosen.rule.fault];
    await (make === undefined ? delay : inject)({ c, sandbox, chosen, next });
  };
}

interface Injection {
  readonly c: RequestContext;
  readonly sandbox: SandboxContext;
  readonly chosen: ChosenFault;
  readonly next: Next;
}

function logFault({ c, chosen }: Injection, answered: number | null): void {
  const { rule, number, effect } = chosen;
  c.get("entry").fault = { rule: number, name: rule.fault, effect, answered };
}

async function delay(injection: Injection): Promise<void> {
  const { c, sandbox, chosen, next } = injection;
  const ms = chosen.rule.for ?? DELAY_MS;
  if (chosen.effect === "after") await wait(ms, sandbox.closing);
  await next();
  logFault(injection, c.res.status);
  if (chosen.effect === "before") await wait(ms, sandbox.closing);
}

async function inject(injection: Injection): Promise<void> {
  const { c, sandbox, chosen, next } = injection;
  const { rule, effect } = chosen;
  const { settings, closing } = sandbox;
  if (effect === "before") await next();
  else await receive(c, sandbox);
  if (c.error instanceof BrokenOff) return;
  const answered = effect === "before" ? await wholeOf(c.res) : undefined;
  const { behavior } = settings;
  const made = FAULTS[rule.fault].make?.({ c, rule, behavior, now: settings.now(), answered, closing });
  if (made !== undefined) logFault(injection, answered?.status ?? null);
  if (made === undefined || (made instanceof Response && effect !== "after")) {
    const response = made ?? (answered && responseOf(answered));
    c.res = undefined;
    c.res = response;
    return;
  }
  const { status, send } = made instanceof Response ? await sendingOf(made, c) : made;
  c.set("sending", {
    status,
    send: async () => {
      await send();
      if (effect !== "after") return;
      await wait(rule.late ?? LATE_MS, closing);
      if (!closing.aborted) await next();
    },
  });
}

/** Sends what a fault sends instead of the response, if there is such a fault. */
export async function sendPastApp(c: RequestContext): Promise<void> {
  const sending = c.get("sending");
  if (sending === undefined) return;
  await sending.send();
  c.res = undefined;
  c.res = RESPONSE_ALREADY_SENT;
}

/** Receives a request that is not processed, or not yet. */
async function receive(c: RequestContext, { settings }: SandboxContext): Promise<void> {
  if (c.get("entry").side === "service") return receiveBody(c, settings);
  for await (const _chunk of chunksOf(c.env.incoming));
}

async function wholeOf(response: Response): Promise<WholeResponse> {
  const body = Buffer.from(await response.arrayBuffer());
  return { status: response.status, headers: Object.fromEntries(response.headers), body };
}

function responseOf({ status, headers, body }: WholeResponse): Response {
  return new Response(body.length === 0 ? null : body, { status, headers });
}

/** Sends a response before the request is processed. */
async function sendingOf(response: Response, { env: { outgoing } }: RequestContext) {
  const { status, headers, body } = await wholeOf(response);
  return { status, send: async () => void outgoing.writeHead(status, headers).end(body) };
}
