import type { TestProject } from "vitest/node";
import { once } from "./once.ts";
import { startPostgres } from "./start-postgres.mjs";

declare module "vitest" {
  interface ProvidedContext {
    /** URL of a database, with the password of a superuser. */
    readonly databaseUrl: string;
  }
}

/**
 * One PostgreSQL server for all tests of a run, with its data in a temporary folder, or the one in
 * `DRAFTSYNC_TEST_DATABASE_URL`. Each test makes a new schema in it.
 */
export async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const given = process.env.DRAFTSYNC_TEST_DATABASE_URL;
  if (given !== undefined && given !== "") {
    provide("databaseUrl", given);
    return async () => {};
  }
  const server = once("postgres", () => ({ users: 0, started: startPostgres() }));
  server.users += 1;
  const { url, stop } = await server.started;
  provide("databaseUrl", url);
  return async () => {
    server.users -= 1;
    if (server.users === 0) await stop();
  };
}
