import { type Compilable, CompiledQuery, type RawBuilder, sql } from "kysely";
import { lazily } from "../model/lazily.ts";
import { LedgerError } from "./ledger-error.ts";
import type { LedgerQueries } from "./schema.ts";
import { storable } from "./storable.ts";

/** What a column holds. */
type Value = string | number | null;

/** A statement that changes rows, with its values: plain data, which may be handed to another thread. */
export interface Step {
  /** In the words of the database it was compiled for. */
  readonly sql: string;
  /** In the order of the statement's parameters, each storable as it is. */
  readonly parameters: readonly Value[];
  /** Why nothing of the transaction may be committed when this changes no row; absent: it need not change one. */
  readonly refusal?: string;
}

/** Gives a compiled statement its values. Throws `ledger-invalid-value` for one that cannot be stored. */
export type MakeStep<Values> = (values: Values) => Step;

/** A step changed no row and had to (`ledger-conflict`). */
export class StepRefusedError extends LedgerError {
  readonly step: Step;

  constructor(step: Step) {
    super("ledger-conflict", step.refusal ?? "");
    this.step = step;
  }
}

class Slot {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/**
 * Lets Kysely compile a statement once: `build` puts `slot("name")` wherever a value will stand. Compiling costs
 * more than running, and a journal runs the same few statements thousands of times.
 */
export function compileStep<Values extends Readonly<Record<string, Value>>>(
  build: (slot: <Name extends keyof Values & string>(name: Name) => RawBuilder<Values[Name]>) => Compilable,
): MakeStep<Values> {
  // Who only reads runs none of them.
  const compile = lazily(() => build((name) => sql`${new Slot(name)}`).compile());
  return (values) => {
    const { sql, parameters } = compile();
    const given: Value[] = [];
    for (const parameter of parameters)
      given.push(storable(parameter instanceof Slot ? values[parameter.name] : parameter));
    return { sql, parameters: given };
  };
}

/** Runs a step inside a transaction; resolves with how many rows it changed. */
export async function runStep(queries: LedgerQueries, step: Step): Promise<number> {
  const result = await queries.executeQuery(CompiledQuery.raw(step.sql, [...step.parameters]));
  return Number(result.numAffectedRows ?? 0);
}

/** Runs steps inside a transaction, in order. Rejects with {@link StepRefusedError}. */
export async function runSteps(queries: LedgerQueries, steps: readonly Step[]): Promise<void> {
  for (const step of steps) {
    if ((await runStep(queries, step)) === 0 && step.refusal !== undefined) throw new StepRefusedError(step);
  }
}
