import { LedgerError } from "./ledger-error.ts";

/**
 * A parameter of a statement, or `ledger-invalid-value`: what both databases store as it is. SQLite's driver ends the
 * process on a boolean, cuts a text at its first NUL and replaces halves of surrogate pairs; PostgreSQL refuses NUL.
 */
export function storable(value: unknown): string | number | null {
  if (value === null) return null;
  if (typeof value === "number" && Number.isSafeInteger(value)) return value;
  if (typeof value === "string" && value.isWellFormed() && !value.includes("\0")) return value;
  const shown = typeof value === "string" ? JSON.stringify(value.slice(0, 100)) : String(value);
  throw new LedgerError(
    "ledger-invalid-value",
    `The ledger cannot hold ${shown}: only whole numbers up to 2^53 - 1, and texts of valid Unicode without NUL.`,
  );
}
