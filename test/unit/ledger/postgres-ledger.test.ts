import { describeLedgerJournal } from "./ledger-journal-suite.ts";
import { describeLedgerLock } from "./ledger-lock-suite.ts";
import { describeLedgerReconcile } from "./ledger-reconcile-suite.ts";
import { describeLedgerReplay } from "./ledger-replay-suite.ts";
import { describeLedgerRestored } from "./ledger-restored-suite.ts";
import { describeLedgerState } from "./ledger-state-suite.ts";
import { describeLedger } from "./ledger-suite.ts";
import { describeRateReservations } from "./rate-reservations-suite.ts";
import { freshSchema, lockPlace, openForTest } from "./samples.ts";

async function makePostgres() {
  const location = freshSchema();
  return { ledger: await openForTest(location), reopen: () => openForTest(location) };
}

describeLedger("PostgreSQL", makePostgres);
describeLedgerJournal("PostgreSQL", makePostgres);
describeLedgerState("PostgreSQL", makePostgres);
describeLedgerReconcile("PostgreSQL", makePostgres);
describeLedgerReplay("PostgreSQL", makePostgres);
describeLedgerRestored("PostgreSQL", makePostgres);

describeLedgerLock("PostgreSQL", () => lockPlace(freshSchema()));
describeRateReservations("PostgreSQL", () => lockPlace(freshSchema()));
