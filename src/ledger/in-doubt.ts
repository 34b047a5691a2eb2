import { type SqlBool, sql } from "kysely";

/**
 * The condition on `operations` for those in doubt: not settled, and either of unknown outcome or left by a crash
 * between intent and outcome. Word for word that of the index `operations_in_doubt`, which it would not use otherwise.
 */
export const inDoubt = sql<SqlBool>`settled_at is null and (outcome is null or outcome = 'unknown')`;
