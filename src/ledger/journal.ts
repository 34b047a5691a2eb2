import { sql } from "kysely";
import type { Clock, NewOperation, OperationResult, RunRecord } from "../model/ports.ts";
import { inDoubt } from "./in-doubt.ts";
import type { LedgerQueries } from "./schema.ts";
import { compileStep, type Step } from "./step.ts";

/** How an operation in doubt was settled. */
export interface Settlement {
  readonly operationId: string;
  readonly outcome: "done" | "rejected" | "not_sent";
  /** The operation that proved it. */
  readonly by?: string;
}

/** Makes the steps that write runs and operations, for one transaction each. */
export interface Journal {
  startRun(run: RunRecord): Step;
  finishRun(runId: string, result: { totals: unknown; status: string }): Step;
  begin(operation: NewOperation): Step;
  finish(operationId: string, result: OperationResult): Step;
  /** Settles updates, detachments and uploads in doubt at the address of an operation that is done. */
  supersede(operationId: string): Step;
  settle(settlement: Settlement): Step;
}

/** Makes the journal of a database; its statements are compiled once. */
export function makeJournal(db: LedgerQueries, clock: Clock): Journal {
  const statements = compileStatements(db);
  return {
    startRun: (run) =>
      statements.startRun({
        id: run.id,
        command: run.command,
        plan_id: run.planId,
        started_at: run.startedAt,
      }),
    finishRun: (runId, { totals, status }) => ({
      ...statements.finishRun({
        id: runId,
        totals: JSON.stringify(totals ?? null),
        status,
        now: clock.now(),
      }),
      refusal: `Run ${runId} was never started, or has ended.`,
    }),
    begin: ({ id, runId, address, kind, method, path, intent }) =>
      statements.begin({
        id,
        run_id: runId,
        address,
        kind,
        method,
        path,
        intent: JSON.stringify(intent),
        now: clock.now(),
      }),
    finish: (operationId, { outcome, status, attempts, failure }) => ({
      ...statements.finish({
        id: operationId,
        outcome,
        status: status ?? null,
        attempts,
        failure: failure === undefined ? null : JSON.stringify(failure),
        now: clock.now(),
      }),
      refusal: `Operation ${operationId} was never begun, or has ended.`,
    }),
    supersede: (operationId) => statements.supersede({ id: operationId, now: clock.now() }),
    settle: ({ operationId, outcome, by }) => ({
      ...statements.settle({ id: operationId, outcome, by: by ?? null, now: clock.now() }),
      refusal: `Operation ${operationId} is not in doubt.`,
    }),
  };
}

function compileStatements(db: LedgerQueries) {
  return {
    startRun: compileStep<{ id: string; command: string; plan_id: string; started_at: number }>((slot) =>
      db.insertInto("runs").values({
        id: slot("id"),
        command: slot("command"),
        plan_id: slot("plan_id"),
        started_at: slot("started_at"),
      }),
    ),
    finishRun: compileStep<{ id: string; totals: string; status: string; now: number }>((slot) =>
      db
        .updateTable("runs")
        .set({ finished_at: slot("now"), status: slot("status"), totals: slot("totals") })
        .where("id", "=", slot("id"))
        .where("finished_at", "is", null),
    ),
    begin: compileStep<{
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
    finish: compileStep<{
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
    supersede: compileStep<{ id: string; now: number }>((slot) =>
      db
        .updateTable("operations")
        .set({ settled_at: slot("now"), settled_as: "superseded", settled_by: slot("id") })
        .where("address", "=", (eb) =>
          eb.selectFrom("operations as done").select("done.address").where("done.id", "=", slot("id")),
        )
        // Written into the text: it is in every commit, and each value of a step costs the two threads something.
        .where(
          "kind",
          "in",
          ["update", "detach", "upload"].map((kind) => sql.lit(kind)),
        )
        .where("id", "<>", slot("id"))
        .where(inDoubt),
    ),
    settle: compileStep<{ id: string; outcome: string; by: string | null; now: number }>((slot) =>
      db
        .updateTable("operations")
        .set({ settled_at: slot("now"), settled_as: slot("outcome"), settled_by: slot("by") })
        .where("id", "=", slot("id"))
        .where(inDoubt),
    ),
  };
}
