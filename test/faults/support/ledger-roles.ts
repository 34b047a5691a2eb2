import { onTestFinished } from "vitest";
import { readText } from "../../support/source-files.ts";
import { askServer, freshSchema, rolePassword, schemaOf } from "../../unit/ledger/samples.ts";

/** Locations of one ledger for a writing role and a read-only role. */
export interface LedgerRoles {
  readonly write: string;
  readonly read: string;
}

/** Creates the schema and both roles with the SQL statements in the README of an example. */
export async function makeLedgerRoles(example: string): Promise<LedgerRoles> {
  const [, block = ""] = /```sql\n([\s\S]*?)```/.exec(readText(`examples/${example}/README.md`)) ?? [];
  const location = freshSchema();
  const schema = schemaOf(location);
  const role = (name: string) => `${schema}_${name}`;
  onTestFinished(async () => {
    for (const name of ["writer", "reader"])
      await askServer(`drop owned by ${role(name)} cascade; drop role ${role(name)}`);
  });
  await askServer(
    block.replaceAll("drafts", schema).replace(/PASSWORD '[^']*'/g, `PASSWORD '${rolePassword}'`),
  );
  const as = (name: string) => {
    const url = new URL(location);
    url.username = role(name);
    url.password = rolePassword;
    return url.href;
  };
  return { write: as("writer"), read: as("reader") };
}
