import { type ObjectTable, openObjectTable } from "../storage/object-table.ts";
import { type Attachments, openAttachments } from "./attachments.ts";
import { openDatabase } from "./database.ts";
import { openProducts, type Products } from "./products.ts";
import { openStorageSessions, type StorageSessions } from "./sessions.ts";
import { openUploads, type Uploads } from "./uploads.ts";

/** All that the sandbox remembers, apart from object bytes. */
export interface Store {
  readonly attachments: Attachments;
  readonly uploads: Uploads;
  readonly products: Products;
  readonly sessions: StorageSessions;
  readonly objects: ObjectTable;
  close(): void;
}

/**
 * Opens the store in a SQLite file, or in memory.
 *
 * @throws SandboxError `store-unusable`.
 */
export function openStore(file: string | undefined): Store {
  const database = openDatabase(file);
  return {
    attachments: openAttachments(database),
    uploads: openUploads(database),
    products: openProducts(database),
    sessions: openStorageSessions(database),
    objects: openObjectTable(database),
    close: () => database.close(),
  };
}
