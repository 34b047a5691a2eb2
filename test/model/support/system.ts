import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { applyPlan } from "../../../src/apply/apply-plan.ts";
import { resolutionOfAll } from "../../../src/apply/resolution.ts";
import { LockHeldError } from "../../../src/ledger/ledger-error.ts";
import { openLedger, type StateStore } from "../../../src/ledger/open-ledger.ts";
import { isBlocked } from "../../../src/model/change.ts";
import { DraftsyncError } from "../../../src/model/errors.ts";
import type { Lease } from "../../../src/model/lock.ts";
import type { Observed } from "../../../src/model/observed.ts";
import type { Plan } from "../../../src/model/plan.ts";
import { type Recorded, targetOf } from "../../../src/model/recorded.ts";
import { wait } from "../../../src/model/wait.ts";
import { buildPlan } from "../../../src/plan/build-plan.ts";
import { checkSafety } from "../../../src/plan/safety.ts";
import { assertFresh, formatPlanFile, parsePlanFile } from "../../../src/plan/saved-plan.ts";
import type { Sandbox } from "../../../src/sandbox/server.ts";
import { startSandbox } from "../../../src/sandbox/server.ts";
import { type Fault, type FaultyProxy, type Passing, startFaultyProxy } from "../../support/faulty-proxy.ts";
import { forgetfulTracker } from "../../support/tracker.ts";
import { apiKey, type Connection, connect, observeAll, profile, rate } from "./connect.ts";
import { emptyLedger } from "./empty-ledger.ts";
import { movesContent } from "./expected-changes.ts";
import { Manifests, reversed } from "./manifests.ts";
import { Model } from "./model.ts";
import type { SavedPlan } from "./saved-plan.ts";
import { type Comparison, ServedFiles } from "./served-files.ts";
import type { Trouble } from "./trouble.ts";
import { truthOf } from "./truth.ts";
import { watchedLedger } from "./watched-ledger.ts";

const limits = { maxDeletes: { percent: 100, above: 1000 }, removedDrafts: "delete" } as const;
const holder = { user: "ann", host: "build-7", pid: 1, command: "apply" };
/** A lease of 20 ms: for that long, a lock that was released by force is kept for a call in flight. */
const lockRequest = { holder, leaseMs: 20 };

class Killed extends Error {}

/** What an apply is about. */
type Applied = Pick<Comparison, "desired" | "isProbed">;

/** How an apply is disturbed, limited, and what it applies. */
interface ApplyOptions {
  readonly trouble?: Trouble | undefined;
  readonly saved?: SavedPlan;
  readonly maxCalls?: number;
  /** Checks the service first. */
  readonly isProbed?: boolean;
}

/** The real parts and the model that checks them. Tests advance the wall clock past leases. */
export class System {
  readonly model = new Model();
  readonly manifests = new Manifests();
  saved: SavedPlan | undefined;
  inDoubt = 0;
  readonly #root: string;
  readonly #concurrency: number;
  readonly #settleDelayMs: number;
  /** What is being applied, and what was when a publish was sent. */
  #applying: Applied | undefined;
  readonly #sent = new WeakMap<Passing, Applied>();
  #skew = 0;
  readonly clock = { now: () => Date.now() + this.#skew, monotonic: () => performance.now() };
  #sandbox: Sandbox | undefined;
  #proxy: FaultyProxy | undefined;
  #store: StateStore | undefined;
  #trouble: Trouble | undefined;
  #steps = 0;
  #calls = 0;
  readonly #files: ServedFiles;
  #dead = false;
  #overtaker: { readonly store: StateStore; readonly lease: Lease } | undefined;

  constructor({ concurrency, isLate }: { concurrency: number; isLate: boolean }) {
    this.#concurrency = concurrency;
    this.#settleDelayMs = isLate ? 150 : 1;
    this.#root = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "draftsync-model-"));
    this.#files = new ServedFiles(this.#root);
  }

  async open(): Promise<void> {
    this.#sandbox = await startSandbox({ key: apiKey, uploadProcessingMs: 0 });
    this.#proxy = await startFaultyProxy(this.#sandbox.url, (request, end) => {
      const made = this.model.ended(request, end);
      if (made !== undefined) this.#checkProduct(made, this.#sent.get(request));
    });
    this.#proxy.choose = (request) => {
      this.model.arrived(request);
      const fault = this.#faultOf(request);
      // Before a late call arrives, a file may be changed outside draftsync once more.
      const isProbed = this.#applying?.isProbed === true && fault?.type !== "late";
      if (this.#applying !== undefined) this.#sent.set(request, { ...this.#applying, isProbed });
      return fault;
    };
    this.#store = await this.#openStore();
  }

  #faultOf({ method, path }: Passing): Fault | undefined {
    const trouble = this.#trouble;
    if (trouble === undefined || !("path" in trouble)) return undefined;
    if (method === "GET" || !path.startsWith(trouble.path)) return undefined;
    this.#calls += 1;
    if (this.#calls !== trouble.at) return undefined;
    if (trouble.type === "kill-on-wire") this.#die();
    if (trouble.type !== "fault") return trouble.isLate ? this.#late() : undefined;
    if (trouble.survives !== undefined)
      this.#trouble = { type: "kill", at: this.#steps + 1 + trouble.survives };
    return trouble.fault.type === "late" ? this.#late() : trouble.fault;
  }

  /** Where little time is left to settle, no call is late. */
  #late(): Fault {
    return this.#settleDelayMs > 20 ? { type: "late", ms: 20 } : { type: "lost" };
  }

  /** A product has the files that the manifests had when they were applied, or planned. */
  #checkProduct(id: number, applied: Applied | undefined): void {
    const product = this.sandbox.state().products.find((each) => each.id === id);
    if (product === undefined || applied === undefined) return;
    this.model.violations.push(...this.#files.ofProduct(product, this.#comparison(applied)));
  }

  writeSource(source: string, content: string) {
    return this.#files.writeSource(source, content);
  }

  /** Every draft has the files of the manifests and no others. */
  checkFiles(isProbed = false): void {
    const comparison = this.#comparison({ desired: this.manifests.desired(), isProbed });
    this.model.violations.push(...this.#files.ofDrafts(comparison));
  }

  #comparison(applied: Applied): Comparison {
    return { ...applied, state: this.sandbox.state(), drifted: this.model.drifted };
  }

  get sandbox(): Sandbox {
    return opened(this.#sandbox);
  }

  get store(): StateStore {
    return opened(this.#store);
  }

  /** Plans twice, the second time with reversed input, which must give the same bytes (P16). */
  plan(recorded: Recorded, observed?: Observed): Plan {
    const desired = this.manifests.desired();
    const input = { workspace: "world", serviceOrigin: opened(this.#proxy).url, rate, profile };
    const seen = observed === undefined ? {} : { observed };
    const plan = buildPlan({ ...input, ...seen, desired, recorded });
    const again = buildPlan({
      ...input,
      ...seen,
      desired: reversed(desired),
      recorded: {
        ...recorded,
        attachments: recorded.attachments.toReversed(),
        inDoubt: recorded.inDoubt.toReversed(),
      },
    });
    if (formatPlanFile(plan) !== formatPlanFile(again))
      this.model.violations.push("P16: two plans of the same input differ");
    if (observed === undefined && !movesContent(desired, recorded))
      this.model.checkPlan(plan.changes, desired, recorded);
    return plan;
  }

  async apply({
    trouble,
    saved,
    maxCalls,
    isProbed = false,
  }: ApplyOptions = {}): Promise<"done" | "not-all" | "refused" | "killed"> {
    this.#applying = { desired: saved?.desired ?? this.manifests.desired(), isProbed };
    const lease = await this.#lock();
    let recorded = await this.store.load();
    let planId: string | undefined;
    try {
      this.#arm(trouble);
      const observed = isProbed
        ? await observeAll(this.#connection(), { desired: this.#applying.desired, recorded })
        : undefined;
      if (observed !== undefined) {
        await this.store.record(observed.confirmations);
        recorded = await this.store.load();
      }
      const plan =
        saved === undefined ? this.plan(recorded, observed) : await this.#resumed(saved.bytes, recorded);
      if (checkSafety(plan, recorded, limits).length > 0) return "refused";
      if (plan.changes.every(isBlocked) && (plan.drift ?? []).length === 0)
        return plan.changes.length > 0 ? "not-all" : "done";
      planId = plan.plan_id;
      return (await this.#runPlan(plan, maxCalls)) ? "done" : "not-all";
    } catch (error) {
      if (!this.#dead && this.#overtaker === undefined) throw error;
      return "killed";
    } finally {
      await opened(this.#proxy).idle();
      if (this.#dead || this.#overtaker !== undefined) await this.#restart();
      else await lease.release();
      this.#trouble = undefined;
      // An apply of the same manifests to the same ledger makes the same plan as the saved one.
      if (planId === this.saved?.planId) await this.saved?.ran(this.store);
    }
  }

  /** The rest of a saved plan. */
  async #resumed(bytes: string, recorded: Recorded): Promise<Plan> {
    const plan = parsePlanFile(bytes, "plan.json");
    const runIds = new Set((await this.store.runs({ planId: plan.plan_id })).map(({ id }) => id));
    const operations = (await this.store.operations()).filter(({ runId }) => runIds.has(runId));
    const history = { runIds, operations };
    const serviceOrigin = opened(this.#proxy).url;
    return assertFresh(plan, { recorded, serviceOrigin, workspace: "world", history }).plan;
  }

  /** Rejects a second writer at any time; after a forced takeover, the first one cannot commit (P7). */
  async secondWriter(): Promise<void> {
    const first = await this.#lock();
    const other = await this.#openStore();
    this.#skew += 61_000;
    const refused = await codeOf(other.acquireLock(lockRequest));
    if (refused !== "lock-held") this.model.violations.push(`P7: the second writer got ${refused}`);
    const lease = await this.#takeOver(other);
    const { serial } = await other.load();
    const late = await codeOf(this.store.record([{ type: "protection", draftId: 99, protect: true }]));
    const after = await other.load();
    if (late !== "lock-lost" || after.serial !== serial)
      this.model.violations.push(`P7: the first writer committed (${late})`);
    await first.release();
    await lease.release();
    await this.store.close();
    this.#store = other;
  }

  /** A person waits until no call can arrive any more. */
  async resolve(index: number): Promise<void> {
    await this.settled();
    const recorded = await this.store.load();
    const { inDoubt, publications, duplicates } = recorded;
    const operation = inDoubt[index % inDoubt.length];
    if (operation === undefined) return;
    const known = new Set([...publications, ...duplicates].map(({ productId }) => productId));
    for (const id of this.forgotten) known.add(id);
    const truth = truthOf(operation, {
      products: this.sandbox.state().products,
      known,
      held: this.model.held,
    });
    const lease = await this.#lock();
    // A saved plan goes on after its own publish; what follows from a file is for a new one.
    const runId = targetOf(operation) === undefined ? operation.runId : "resolve";
    await this.store.record(
      resolutionOfAll([operation], truth, { ...recorded, now: this.clock.now() }),
      runId,
    );
    await lease.release();
    this.model.resolved(operation);
  }

  /** Products that the ledger had before. */
  readonly forgotten = new Set<number>();

  settled(): Promise<void> {
    return opened(this.#proxy).settled();
  }

  async check(): Promise<void> {
    const recorded = await this.store.load();
    for (const { productId } of recorded.duplicates) this.forgotten.add(productId);
    this.inDoubt = recorded.inDoubt.length;
    this.model.checkLedger(recorded, await this.store.operations());
    const [violation] = this.model.violations;
    if (violation !== undefined) throw new Error(this.model.violations.join("\n"));
  }

  async close(): Promise<void> {
    await this.#store?.close();
    await this.#proxy?.settled();
    await this.#proxy?.close();
    await this.#sandbox?.close();
    rmSync(this.#root, { recursive: true, force: true });
  }

  /** How this process reaches the service. */
  #connection(): Connection {
    const { url } = opened(this.#proxy);
    return {
      url,
      root: this.#root,
      concurrency: this.#concurrency,
      settleDelayMs: this.#settleDelayMs,
      clock: this.clock,
    };
  }

  async #runPlan(plan: Plan, maxCalls?: number): Promise<boolean> {
    const service = connect(this.#connection());
    try {
      const { totals, stopped } = await applyPlan({
        plan,
        ledger: watchedLedger(this.store, this.model, () => this.#step()),
        outcomes: forgetfulTracker,
        service,
        storage: service.storage,
        clock: this.clock,
        emit: () => {},
        signal: new AbortController().signal,
        settleDelayMs: this.#settleDelayMs,
        concurrency: this.#concurrency,
        command: "apply",
        ...(maxCalls === undefined ? {} : { limits: { maxCalls } }),
      });
      return stopped === undefined && totals.failed + totals.skipped + totals.in_doubt === 0;
    } finally {
      await service.close();
    }
  }

  async #step(): Promise<void> {
    if (this.#dead) throw new Killed();
    this.#steps += 1;
    if (this.#steps !== this.#trouble?.at) return;
    if (this.#trouble.type === "kill") {
      this.#die();
      throw new Killed();
    }
    if (this.#trouble.type !== "takeover") return;
    const store = await this.#openStore();
    this.#overtaker = { store, lease: await this.#takeOver(store) };
  }

  #arm(trouble: Trouble | undefined): void {
    this.#trouble = trouble;
    this.#steps = 0;
    this.#calls = 0;
  }

  #die(): void {
    this.#dead = true;
    opened(this.#proxy).cut();
  }

  /** Starts a new process, which abandons the store and the lock of the killed one. */
  async #restart(): Promise<void> {
    await this.store.close();
    this.#store = this.#overtaker?.store ?? (await this.#openStore());
    await this.#overtaker?.lease.release();
    this.#overtaker = undefined;
    this.#dead = false;
    opened(this.#proxy).join();
  }

  /** Takes over the lock of a killed process without waiting (P20). */
  async #lock(): Promise<Lease> {
    return this.store.acquireLock(lockRequest);
  }

  async #takeOver(store: StateStore): Promise<Lease> {
    const held = await store.heldLock();
    if (held !== undefined) await store.releaseLock(held.id);
    for (;;) {
      try {
        return await store.acquireLock(lockRequest);
      } catch (error) {
        if (!(error instanceof LockHeldError) || error.lock.state !== "released") throw error;
        await wait(1);
      }
    }
  }

  async #openStore(): Promise<StateStore> {
    const location = join(this.#root, "state.db");
    if (this.#store === undefined) copyFileSync(await emptyLedger(), location);
    return openLedger({ location, clock: this.clock });
  }
}

function opened<T>(part: T | undefined): T {
  if (part === undefined) throw new Error("the system is not open");
  return part;
}

async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return "done";
  } catch (error) {
    if (error instanceof DraftsyncError) return error.code;
    throw error;
  }
}
