import type { Migration } from "../migrate.ts";
import { ledgerMigration } from "./0001-ledger.ts";
import { leaseMigration } from "./0002-lease.ts";
import { slotsMigration } from "./0003-slots.ts";
import { storedObjectsMigration } from "./0004-stored-objects.ts";
import { looksMigration } from "./0005-looks.ts";
import { confirmedByGetMigration } from "./0006-confirmed-by-get.ts";
import { roundsMigration } from "./0007-rounds.ts";
import { lockClocksMigration } from "./0008-lock-clocks.ts";
import { namesInNfcMigration } from "./0009-names-in-nfc.ts";
import { replacedFilesMigration } from "./0010-replaced-files.ts";
import { confirmedLedgerMigration } from "./0011-confirmed-ledger.ts";
import { maybePublishedMigration } from "./0012-maybe-published.ts";

/** Every migration, numbered from 1 without gaps, in the order in which they are applied. */
export const allMigrations: readonly Migration[] = [
  ledgerMigration,
  leaseMigration,
  slotsMigration,
  storedObjectsMigration,
  looksMigration,
  confirmedByGetMigration,
  roundsMigration,
  lockClocksMigration,
  namesInNfcMigration,
  replacedFilesMigration,
  confirmedLedgerMigration,
  maybePublishedMigration,
];
