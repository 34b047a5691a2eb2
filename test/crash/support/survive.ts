import type { RequestLogEntry } from "../../../src/sandbox/request-log.ts";
import { type CrashWorld, type Life, rate } from "./crash-world.ts";
import { judge } from "./judge.ts";
import { withLedger } from "./ledger-location.ts";

/** The result of a kill. */
export interface Verdict {
  readonly problems: readonly string[];
  /** The number of publishes and duplicates left to the operator. */
  readonly inDoubt: number;
}

/** The actions of the runs after a kill. */
export interface Survivor {
  /** Whether both runs share a rate bound in the ledger. */
  readonly sharesBound: boolean;
  /** Applies, and returns the reported result; `waits` when changes are left to the next plan. */
  apply(life: Life): Promise<"done" | "waits" | "in-doubt">;
  /** Resolves a call in doubt. */
  resolve(life: Life, address: string, productId: number | undefined): Promise<void>;
  /** The remaining changes: action and address. */
  pending(life: Life): Promise<readonly string[]>;
}

/** Applies and resolves until nothing is in doubt, and judges by the server's log. */
export async function survive(world: CrashWorld, life: Life, by: Survivor): Promise<Verdict> {
  await world.proxy.cut();
  const operations = await world.readLedger(life);
  const killed = life.arrivals.splice(0);
  world.proxy.arm(life.sandbox.port);

  const settled = await by.apply(life);
  const reported = settled === "waits" ? await by.apply(life) : settled;
  const rerun = life.arrivals.splice(0);
  const inDoubt = await inDoubtOf(life);
  const resolutions = inDoubt.map((address) => ({ address, productId: productOf(life, address) }));
  for (const { address, productId } of resolutions) await by.resolve(life, address, productId);
  const reportedAgain = inDoubt.length > 0 ? await by.apply(life) : reported;
  const left = inDoubt.length > 0 ? await inDoubtOf(life) : [];
  const pending = await by.pending(life);
  const afterResolve = life.arrivals;

  const notDone = resolutions
    .filter(({ productId }) => productId === undefined)
    .map(({ address }) => address);
  const unsettled = inDoubt.filter((address) => !/^drafts\/\d+\/product$|^duplicates\//.test(address));
  const problems = [
    ...judge({ killed, rerun, afterResolve, operations, notDone, state: life.sandbox.state() }),
    ...((reported === "in-doubt") === inDoubt.length > 0
      ? []
      : [`reported ${reported}, in doubt: ${inDoubt}`]),
    ...(reportedAgain === "done" ? [] : ["reported a call in doubt after all were settled"]),
    ...unsettled.map((address) => `left in doubt: ${address}`),
    ...left.map((address) => `in doubt after it was settled: ${address}`),
    ...pending.map((change) => `planned after the last apply: ${change}`),
    ...(by.sharesBound ? tooMany([...killed, ...rerun, ...afterResolve]) : []),
  ];
  return { problems, inDoubt: inDoubt.length };
}

function inDoubtOf(life: Life): Promise<readonly string[]> {
  return withLedger(life.ledger, async (ledger) => [
    ...new Set((await ledger.load()).inDoubt.map(({ address }) => address)),
  ]);
}

/** The product that the server made; `undefined` when the call had no effect. */
function productOf(life: Life, address: string): number | undefined {
  const draft = /^drafts\/(\d+)\/product$/.exec(address)?.[1];
  return life.sandbox
    .state()
    .products.find(({ draftId, duplicateOf }) =>
      draft === undefined ? duplicateOf !== null : draftId === Number(draft),
    )?.id;
}

function tooMany(arrivals: readonly RequestLogEntry[]): readonly string[] {
  const times = arrivals
    .filter(({ side }) => side === "service")
    .map(({ monotonic }) => monotonic)
    .sort((a, b) => a - b);
  const over = times.find(
    (time, at) => (times[at + rate.limit] ?? Number.POSITIVE_INFINITY) - time <= rate.windowMs,
  );
  return over === undefined ? [] : [`more than ${rate.limit} calls in ${rate.windowMs} ms`];
}
