import type { Clock, NewOperation, OperationResult, RunRecord } from "../model/ports.ts";
import { compileStatement } from "./compiled-statement.ts";
import { inDoubt } from "./in-doubt.ts";
import { LedgerError } from "./ledger-error.ts";
import type { LedgerQueries } from "./schema.ts";

/** How an operation in doubt was settled. */
export interface Settlement {
  readonly operationId: string;
  readonly outcome: "done" | "rejected" | "not_sent";
  /** The operation that proved it. */
  readonly by?: string;
}

/** Writes runs and operations. All methods are parts of a transaction. */
export interface Journal {
  startRun(queries: LedgerQueries, run: RunRecord): Promise<void>;
  finishRun(
    queries: LedgerQueries,
    runId: string,
    result: { totals: unknown; status: string },
  ): Promise<void>;
  begin(queries: LedgerQueries, operation: NewOperation): Promise<void>;
  finish(queries: LedgerQueries, operationId: string, result: OperationResult): Promise<void>;
  /** Settles updates, detachments and uploads in doubt at the address of an operation that is done. */
  supersede(queries: LedgerQueries, operationId: string): Promise<void>;
  settle(queries: LedgerQueries, settlement: Settlement): Promise<void>;
}

/** Makes the journal of a database; its statements are compiled once. */
export function makeJournal(db: LedgerQueries, clock: Clock): Journal {
  const statements = compileStatements(db);
  return {
    async startRun(queries, run) {
      await statements.startRun(queries, {
        id: run.id,
        command: run.command,
        plan_id: run.planId,
        started_at: run.startedAt,
      });
    },
    async finishRun(queries, runId, { totals, status }) {
      const json = JSON.stringify(totals ?? null);
      const found = await statements.finishRun(queries, {
        id: runId,
        totals: json,
        status,
        now: clock.now(),
      });
      if (found === 0) throw conflict(`Run ${runId} was never started, or has ended.`);
    },
    async begin(queries, { runId, intent, ...operation }) {
      const json = JSON.stringify(intent);
      await statements.begin(queries, { ...operation, run_id: runId, intent: json, now: clock.now() });
    },
    async finish(queries, operationId, { outcome, status, attempts, failure }) {
      const found = await statements.finish(queries, {
        id: operationId,
        outcome,
        status: status ?? null,
        attempts,
        failure: failure === undefined ? null : JSON.stringify(failure),
        now: clock.now(),
      });
      if (found === 0) throw conflict(`Operation ${operationId} was never begun, or has ended.`);
    },
    async supersede(queries, operationId) {
      await statements.supersede(queries, { id: operationId, now: clock.now() });
    },
    async settle(queries, { operationId, outcome, by }) {
      const values = { id: operationId, outcome, by: by ?? null, now: clock.now() };
      if ((await statements.settle(queries, values)) === 0) {
        throw conflict(`Operation ${operationId} is not in doubt.`);
      }
    },
  };
}

function compileStatements(db: LedgerQueries) {
  return {
    startRun: compileStatement<{ id: string; command: string; plan_id: string; started_at: number }>((slot) =>
      db.insertInto("runs").values({
        id: slot("id"),
        command: slot("command"),
        plan_id: slot("plan_id"),
        started_at: slot("started_at"),
      }),
    ),
    finishRun: compileStatement<{ id: string; totals: string; status: string; now: number }>((slot) =>
      db
        .updateTable("runs")
        .set({ finished_at: slot("now"), status: slot("status"), totals: slot("totals") })
        .where("id", "=", slot("id"))
        .where("finished_at", "is", null),
    ),
    begin: compileStatement<{
      id: string;
      run_id: string;
      address: string;
      kind: string;
      method: string;
      path: string;
      intent: string;
      now: number;
    }>((slot) =>
      db.insertInto("operations").values({
        id: slot("id"),
        run_id: slot("run_id"),
        address: slot("address"),
        kind: slot("kind"),
        method: slot("method"),
        path: slot("path"),
        intent: slot("intent"),
        started_at: slot("now"),
      }),
    ),
    finish: compileStatement<{
      id: string;
      outcome: string;
      status: number | null;
      attempts: number;
      failure: string | null;
      now: number;
    }>((slot) =>
      db
        .updateTable("operations")
        .set({
          finished_at: slot("now"),
          outcome: slot("outcome"),
          status: slot("status"),
          attempts: slot("attempts"),
          failure: slot("failure"),
        })
        .where("id", "=", slot("id"))
        .where("outcome", "is", null),
    ),
    supersede: compileStatement<{ id: string; now: number }>((slot) =>
      db
        .updateTable("operations")
        .set({ settled_at: slot("now"), settled_as: "superseded", settled_by: slot("id") })
        .where("address", "=", (eb) =>
          eb.selectFrom("operations as done").select("done.address").where("done.id", "=", slot("id")),
        )
        .where("kind", "in", ["update", "detach", "upload"])
        .where("id", "<>", slot("id"))
        .where(inDoubt),
    ),
    settle: compileStatement<{ id: string; outcome: string; by: string | null; now: number }>((slot) =>
      db
        .updateTable("operations")
        .set({ settled_at: slot("now"), settled_as: slot("outcome"), settled_by: slot("by") })
        .where("id", "=", slot("id"))
        .where(inDoubt),
    ),
  };
}

function conflict(message: string): LedgerError {
  return new LedgerError("ledger-conflict", message);
}
