import { type Compilable, CompiledQuery, type RawBuilder, sql } from "kysely";
import { lazily } from "../model/lazily.ts";
import type { LedgerQueries } from "./schema.ts";

/** What a column holds. */
type Value = string | number | null;

/** Runs a statement that changes rows, and resolves with how many there were. */
export type CompiledStatement<Values> = (queries: LedgerQueries, values: Values) => Promise<number>;

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
export function compileStatement<Values extends Readonly<Record<string, Value>>>(
  build: (slot: <Name extends keyof Values & string>(name: Name) => RawBuilder<Values[Name]>) => Compilable,
): CompiledStatement<Values> {
  // Who only reads runs none of them.
  const compile = lazily(() => build((name) => sql`${new Slot(name)}`).compile());
  return async (queries, values) => {
    const compiled = compile();
    const parameters = compiled.parameters.map((given) =>
      given instanceof Slot ? values[given.name] : given,
    );
    const result = await queries.executeQuery(CompiledQuery.raw(compiled.sql, parameters));
    return Number(result.numAffectedRows ?? 0);
  };
}
