import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { isPostgresLocation } from "../../src/ledger/postgres/postgres-location.ts";
import { openSqlite } from "../../src/ledger/sqlite/sqlite-database.ts";
import { systemClock } from "../../src/model/ports.ts";
import { lockRequest } from "../unit/ledger/ledger-lock-suite.ts";
import { databases, openForTest } from "../unit/ledger/samples.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
let built = "";

/** Milliseconds. Twenty processes that start together are slow on a small machine. */
const timeoutMs = 120_000;

// Node does not run TypeScript: the child and the ledger are compiled once, below node_modules.
beforeAll(() => {
  const cache = join(root, "node_modules", ".cache");
  mkdirSync(cache, { recursive: true });
  built = mkdtempSync(join(cache, "ledger-child-"));
  const config = {
    extends: join(root, "tsconfig.json"),
    compilerOptions: { noEmit: false, rootDir: root, outDir: built },
    files: [join(root, "test/faults/support/ledger-child.ts")],
    include: [],
  };
  writeFileSync(join(built, "tsconfig.json"), JSON.stringify(config));
  const tsc = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin", "tsc");
  execFileSync(process.execPath, [tsc, "-p", built]);
  writeFileSync(join(built, "package.json"), `{ "type": "module" }`);
}, timeoutMs);

afterAll(() => rmSync(built, { recursive: true, force: true }));

interface Child {
  readonly lines: readonly string[];
  /** Resolves when this many lines were printed or the process has ended. */
  printed(count: number): Promise<void>;
  kill(signal?: NodeJS.Signals): void;
  /** Writes a line to standard input; without a line, closes it. */
  writeLine(line?: string): void;
  readonly ended: Promise<{ readonly code: number | null; readonly errors: string }>;
}

function start(task: "open" | "work" | "hold", location: string): Child {
  const child = spawn(process.execPath, [join(built, "test/faults/support/ledger-child.js"), task, location]);
  let text = "";
  let errors = "";
  child.stdout.setEncoding("utf8").on("data", (data: string) => {
    text += data;
  });
  child.stderr.setEncoding("utf8").on("data", (data: string) => {
    errors += data;
  });
  const closed = once(child, "close");
  const lines = () => text.split("\n").slice(0, -1);
  return {
    get lines() {
      return lines();
    },
    async printed(count) {
      while (lines().length < count) {
        const ended = await Promise.race([
          once(child.stdout, "data").then(() => false),
          closed.then(() => true),
        ]);
        if (ended) return;
      }
    },
    kill: (signal = "SIGKILL") => void child.kill(signal),
    writeLine: (line) => (line === undefined ? child.stdin.end() : child.stdin.write(`${line}\n`)),
    ended: closed.then(() => ({ code: child.exitCode, errors })),
  };
}

test.each(databases)(
  "$name: twenty processes that open a new ledger at the same time share one lineage",
  async ({ locate }) => {
    const location = locate();
    const children = Array.from({ length: 20 }, () => start("open", location));
    const ends = await Promise.all(children.map(({ ended }) => ended));
    expect(ends).toEqual(ends.map(() => ({ code: 0, errors: "" })));
    const { lineage, protectedDrafts } = await (await openForTest(location)).load();
    expect(children.map(({ lines }) => lines)).toEqual(children.map(() => [lineage]));
    expect(protectedDrafts.size).toBe(20);
  },
  timeoutMs,
);

const kills = databases.flatMap((database) =>
  [1, 2, 9, 40, 150, 400].map((count) => ({ ...database, count })),
);

test.each(kills)(
  "$name: a kill after $count reports loses nothing that was reported",
  async ({ locate, count }) => {
    const location = locate();
    const child = start("work", location);
    await child.printed(count);
    child.kill();
    expect(await child.ended).toMatchObject({ errors: "" });
    expect(child.lines.length).toBeGreaterThanOrEqual(count);

    const ledger = await openForTest(location);
    // After a successful write the server has finished the statements of the killed process.
    await ledger.record([{ type: "protection", draftId: 1, protect: false }]);
    const operations = new Map((await ledger.operations()).map((operation) => [operation.id, operation]));
    const { attachments, inDoubt } = await ledger.load();
    const files = new Set(attachments.map(({ fileId }) => String(fileId)));
    const lost = child.lines.filter((line) => {
      const [what, id = ""] = line.split(" ");
      return what === "begun"
        ? !operations.has(id)
        : operations.get(id)?.outcome !== "done" || !files.has(id);
    });
    expect(lost).toEqual([]);
    const halfDone = [...operations.values()].filter(
      ({ id, outcome }) => (outcome === "done") !== files.has(id),
    );
    expect(halfDone).toEqual([]);
    expect(inDoubt.length).toBe(operations.size - files.size);
    if (!isPostgresLocation(location))
      expect(await integrityOf(location)).toEqual([{ integrity_check: "ok" }]);
  },
  timeoutMs,
);

const stops = databases.flatMap((database) => [true, false].map((released) => ({ ...database, released })));

test.each(stops)(
  "$name: a process stopped for longer than its lease keeps the lock unless it was released by force: $released",
  async ({ locate, released }) => {
    const location = locate();
    const ledger = await openForTest(location);
    const child = start("hold", location);
    await child.printed(1);
    child.writeLine("commit");
    await child.printed(2);
    child.kill("SIGSTOP");
    const expired = async () => ((await ledger.heldLock())?.expiresAt ?? 0) <= Date.now();
    await expect.poll(expired, { timeout: timeoutMs }).toBe(true);
    await expect(ledger.acquireLock(lockRequest("bob"))).rejects.toMatchObject({ code: "lock-held" });
    if (released) await ledger.releaseLock((await ledger.heldLock())?.id ?? "none");
    child.kill("SIGCONT");
    child.writeLine("commit");
    await child.printed(3);
    child.writeLine();
    expect(await child.ended).toEqual({ code: 0, errors: "" });
    expect(child.lines).toEqual(["held 1", "committed", released ? "lock-lost" : "committed"]);
    expect((await ledger.load()).attachments).toHaveLength(released ? 1 : 2);
  },
  timeoutMs,
);

async function integrityOf(location: string): Promise<unknown> {
  const database = await openSqlite({ location, clock: systemClock });
  const { rows } = await database.transaction("read", (queries) =>
    sql`pragma integrity_check`.execute(queries),
  );
  await database.close();
  return rows;
}
