import type { StateStore } from "../../../src/ledger/open-ledger.ts";
import { wholeAddress } from "../../../src/model/address.ts";
import type { Desired } from "../../../src/model/desired.ts";
import type { Plan } from "../../../src/model/plan.ts";
import { formatVersion, type Recorded } from "../../../src/model/recorded.ts";
import { formatPlanFile } from "../../../src/plan/saved-plan.ts";

/** Whether a saved plan must be refused; `either` when the model cannot decide. */
export type Expected = "fresh" | "stale" | "either";

/** The records of the drafts and duplicates of a plan. */
interface Values {
  readonly records: string;
  readonly protection: string;
}

/** A saved plan with the records of its resources. */
export class SavedPlan {
  readonly bytes: string;
  /** What the manifests said when it was made. */
  readonly desired: Desired;
  readonly #plan: Plan;
  readonly #versions: string;
  #known: Values;
  #hasRun = false;

  constructor(plan: Plan, { recorded, desired }: { recorded: Recorded; desired: Desired }) {
    this.desired = desired;
    this.#plan = plan;
    this.bytes = formatPlanFile(plan);
    this.#known = this.#valuesOf(recorded);
    this.#versions = this.#versionsOf(recorded);
  }

  get planId(): string {
    return this.#plan.plan_id;
  }

  /** The expected result of an apply of the plan. */
  async expected(store: StateStore): Promise<Expected> {
    const recorded = await store.load();
    const now = this.#valuesOf(recorded);
    const isSame = now.records === this.#known.records && now.protection === this.#known.protection;
    // What other runs changed and changed back makes the plan stale, although the values are the same.
    if (isSame && this.#versionsOf(recorded) !== this.#versions) return "either";
    if (isSame && (await this.#wasWrittenBetween(store))) return "either";
    if (!this.#hasRun) return isSame ? "fresh" : "stale";
    // Protection has no operations, so a reverted protection looks as if the plan had not started.
    if (now.records === this.#known.records && !isSame) return "either";
    const runs = new Set((await store.runs({ planId: this.#plan.plan_id })).map(({ id }) => id));
    const own = (await store.operations()).filter(({ runId }) => runs.has(runId));
    // Missing files were removed from the ledger, and calls in doubt were settled by the run or the operator.
    const isUnclear = own.some(
      ({ failure, settled }) => failure?.code === "not-attached" || settled !== undefined,
    );
    // What waited for the plan is for a new one.
    if (this.#plan.diagnostics.length > 0) return "either";
    if (isUnclear || this.#plan.changes.some(({ action }) => action === "in_doubt")) return "either";
    return isSame ? "fresh" : "stale";
  }

  /**
   * Whether another run wrote to the drafts of the plan after a run of the plan. Even if that run's changes
   * were reverted, the state after the plan's own run is unknown.
   */
  async #wasWrittenBetween(store: StateStore): Promise<boolean> {
    const runs = new Set((await store.runs({ planId: this.#plan.plan_id })).map(({ id }) => id));
    const drafts = new Set(this.#plan.changes.map(({ address }) => address.split("/", 2).join("/")));
    const written = (await store.operations()).filter(({ intent }) => drafts.has(`drafts/${intent.draftId}`));
    const first = written.findIndex(({ runId }) => runs.has(runId));
    return first >= 0 && written.slice(first).some(({ runId }) => !runs.has(runId));
  }

  /** Updates the known values after a run of the plan. */
  async ran(store: StateStore): Promise<void> {
    this.#hasRun = true;
    this.#known = this.#valuesOf(await store.load());
  }

  /** Versions of the drafts and duplicates of the plan, without what its own runs changed. */
  #versionsOf({ versions }: Recorded): string {
    const others = [...new Set(this.#plan.changes.map(({ address }) => wholeAddress(address)))].map(
      (address) => {
        const version = versions.get(address);
        return version?.changedBy === this.planId ? version.before : version && formatVersion(version);
      },
    );
    return JSON.stringify(others);
  }

  #valuesOf(recorded: Recorded): Values {
    const heads = new Set(this.#plan.changes.map(({ address }) => address.split("/", 2).join("/")));
    const has = (address: string) => heads.has(address.split("/", 2).join("/"));
    const records = JSON.stringify([
      recorded.attachments
        .filter(({ draftId }) => heads.has(`drafts/${draftId}`))
        .map(({ provenance: _, ...values }) => values)
        .sort((a, b) => a.fileId - b.fileId || a.draftId - b.draftId),
      recorded.publications
        .filter(({ draftId }) => heads.has(`drafts/${draftId}`))
        .map((each) => each.productId),
      recorded.duplicates.filter(({ name }) => has(`duplicates/${name}`)).map((each) => each.productId),
      recorded.inDoubt
        .filter(({ address }) => has(address))
        .map(({ id }) => id)
        .sort(),
    ]);
    const isProtected = [...recorded.protectedDrafts].filter((draftId) => heads.has(`drafts/${draftId}`));
    return { records, protection: JSON.stringify(isProtected) };
  }
}
