import type { RequestLogEntry } from "../../../src/sandbox/request-log.ts";
import { type CrashWorld, type Life, rate } from "./crash-world.ts";
import { judge } from "./judge.ts";
import { withLedger } from "./ledger-place.ts";

/** How a kill was survived. */
export interface Verdict {
  readonly problems: readonly string[];
  /** How many publications and duplicates were left to a person. */
  readonly inDoubt: number;
}

/** What the runs after a kill are made with. */
export interface Survivor {
  /** Whether the rate bound outlives the kill: it does in the ledger that both runs share. */
  readonly sharesBound: boolean;
  /** Applies; whether it says that all is done, or else that something is in doubt. */
  apply(life: Life): Promise<"done" | "in-doubt">;
  /** A person resolves it. */
  resolve(life: Life, address: string, productId: number | undefined): Promise<void>;
  /** The changes that a plan still has: action and address. */
  pending(life: Life): Promise<readonly string[]>;
}

/** Applies until all is well, as a person would, and judges by the server's own log. */
export async function survive(world: CrashWorld, life: Life, by: Survivor): Promise<Verdict> {
  await world.proxy.cut();
  const operations = await world.readLedger(life);
  const killed = life.arrivals.splice(0);
  world.proxy.arm(life.sandbox.port);

  const said = await by.apply(life);
  const rerun = life.arrivals.splice(0);
  const inDoubt = await inDoubtOf(life);
  const words = inDoubt.map((address) => ({ address, productId: productOf(life, address) }));
  for (const { address, productId } of words) await by.resolve(life, address, productId);
  const saidThen = inDoubt.length > 0 ? await by.apply(life) : said;
  const left = inDoubt.length > 0 ? await inDoubtOf(life) : [];
  const pending = await by.pending(life);
  const afterWord = life.arrivals;

  const notDone = words.filter(({ productId }) => productId === undefined).map(({ address }) => address);
  const unsettled = inDoubt.filter((address) => !/^drafts\/\d+\/product$|^duplicates\//.test(address));
  const problems = [
    ...judge({ killed, rerun, afterWord, operations, notDone, state: life.sandbox.state() }),
    ...((said === "in-doubt") === inDoubt.length > 0 ? [] : [`said ${said}, in doubt: ${inDoubt}`]),
    ...(saidThen === "done" ? [] : ["said that something was in doubt after all was settled"]),
    ...unsettled.map((address) => `left in doubt: ${address}`),
    ...left.map((address) => `in doubt after it was settled: ${address}`),
    ...pending.map((change) => `planned after all was done: ${change}`),
    ...(by.sharesBound ? tooMany([...killed, ...rerun, ...afterWord]) : []),
  ];
  return { problems, inDoubt: inDoubt.length };
}

function inDoubtOf(life: Life): Promise<readonly string[]> {
  return withLedger(life.ledger, async (ledger) => [
    ...new Set((await ledger.load()).inDoubt.map(({ address }) => address)),
  ]);
}

/** What the server made, if it did: `undefined` when the call never took effect. */
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
