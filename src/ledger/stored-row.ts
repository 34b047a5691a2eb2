import type { z } from "zod";
import { messageOf } from "../model/errors.ts";
import { LedgerError } from "./ledger-error.ts";

/** Where rows come from: names for messages. The first `keyLength` columns are the key. */
export interface RowShape {
  readonly location: string;
  readonly table: string;
  readonly columns: readonly string[];
  readonly keyLength: number;
}

/**
 * A row on its way out of the ledger. Every column is checked as it is read: one that does not hold what the schema
 * says is thrown as `ledger-corrupt` with the table and the key.
 */
export class StoredRow {
  readonly #shape: RowShape;
  readonly #values: readonly unknown[];

  constructor(shape: RowShape, values: readonly unknown[]) {
    this.#shape = shape;
    this.#values = values;
  }

  integer(column: string): number {
    const value = this.#get(column);
    return typeof value === "number" && Number.isSafeInteger(value)
      ? value
      : this.#fail(column, "a whole number");
  }

  optionalInteger(column: string): number | undefined {
    return this.#get(column) === null ? undefined : this.integer(column);
  }

  text(column: string): string {
    const value = this.#get(column);
    return typeof value === "string" ? value : this.#fail(column, "a text");
  }

  optionalText(column: string): string | undefined {
    return this.#get(column) === null ? undefined : this.text(column);
  }

  oneOf<Word extends string>(column: string, words: readonly Word[]): Word {
    const word = words[words.indexOf(this.#get(column) as Word)];
    return word ?? this.#fail(column, `one of ${words.join(", ")}`);
  }

  optionalOneOf<Word extends string>(column: string, words: readonly Word[]): Word | undefined {
    return this.#get(column) === null ? undefined : this.oneOf(column, words);
  }

  json<T>(column: string, schema: () => z.ZodType<T>): T {
    try {
      return schema().parse(JSON.parse(this.text(column)));
    } catch (error) {
      if (error instanceof LedgerError) throw error;
      return this.#fail(column, "the JSON that belongs there", error);
    }
  }

  optionalJson<T>(column: string, schema: () => z.ZodType<T>): T | undefined {
    return this.#get(column) === null ? undefined : this.json(column, schema);
  }

  #get(column: string): unknown {
    return this.#values[this.#shape.columns.indexOf(column)];
  }

  #fail(column: string, wanted: string, cause?: unknown): never {
    const { location, table, columns, keyLength } = this.#shape;
    const key = columns.slice(0, keyLength).map((name, index) => `${name} ${String(this.#values[index])}`);
    const detail = cause === undefined ? "" : ` (${messageOf(cause)})`;
    throw new LedgerError(
      "ledger-corrupt",
      `The ledger ${location} is damaged: in table ${table}, row ${key.join(", ")}, column ${column} is not ${wanted}${detail}.`,
      { cause, hint: "Keep a copy of it, then restore the ledger from a backup." },
    );
  }
}
