import { join } from "node:path";
import { describeLedgerJournal } from "./ledger-journal-suite.ts";
import { describeLedgerLock, type OpenAgain } from "./ledger-lock-suite.ts";
import { describeLedgerRounds } from "./ledger-rounds-suite.ts";
import { describeLedgerSlots } from "./ledger-slots-suite.ts";
import { describeLedgerState } from "./ledger-state-suite.ts";
import { describeLedger } from "./ledger-suite.ts";
import { describeLedgerTakeIn } from "./ledger-take-in-suite.ts";
import { freshFolder, openForTest } from "./samples.ts";

async function makeSqlite() {
  const location = join(freshFolder(), "state.db");
  return { ledger: await openForTest(location), reopen: () => openForTest(location) };
}

describeLedger("SQLite", makeSqlite);
describeLedgerJournal("SQLite", makeSqlite);
describeLedgerState("SQLite", makeSqlite);
describeLedgerRounds("SQLite", makeSqlite);
describeLedgerTakeIn("SQLite", makeSqlite);

async function makeOpenAgain(): Promise<OpenAgain> {
  const location = join(freshFolder(), "state.db");
  return (clock) => openForTest(location, clock);
}

describeLedgerLock("SQLite", makeOpenAgain);
describeLedgerSlots("SQLite", makeOpenAgain);
