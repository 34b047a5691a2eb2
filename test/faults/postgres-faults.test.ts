import { createServer } from "node:net";
import pg from "pg";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { listenLocally } from "../support/listen.ts";
import { startPostgres } from "../support/start-postgres.mjs";
import { attached, attachOperation, hurriedClock, sampleRun } from "../unit/ledger/ledger-values.ts";
import { askServer, freshRole, freshSchema, openForTest, schemaOf } from "../unit/ledger/samples.ts";
import { type ClientMessage, type Fault, startPostgresProxy } from "./support/postgres-proxy.ts";

/** Returns the fault for the first matching message and "pass" for the others. */
function once(matches: (message: ClientMessage) => boolean, fault: Fault): (message: ClientMessage) => Fault {
  let due = true;
  return (message) => {
    if (!due || !matches(message)) return "pass";
    due = false;
    return fault;
  };
}

/** Locks a table of the ledger from another connection until `release` is called. */
async function holdLock(location: string): Promise<{ release(): Promise<void> }> {
  const client = new pg.Client({ connectionString: inject("databaseUrl") });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query(`begin; lock table ${schemaOf(location)}.meta in exclusive mode`);
  return { release: () => client.query("rollback").then(() => {}) };
}

/** Blocks the process as SIGSTOP does: timers expire and no input is read. */
function blockProcess(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

const isCommit = ({ type, text }: ClientMessage) => type === "Q" && text === "commit";
const isBegin = ({ type, text }: ClientMessage) => type === "Q" && text.startsWith("begin");
const isInsert = ({ type, text }: ClientMessage) => type === "P" && text.startsWith("insert");

async function throughProxy(clock?: Parameters<typeof openForTest>[1]) {
  const proxy = await startPostgresProxy();
  const location = freshSchema();
  const ledger = await openForTest(proxy.through(location), clock);
  await ledger.startRun(sampleRun);
  return { proxy, location, ledger };
}

describe("lost PostgreSQL connection", () => {
  const points: readonly [string, (message: ClientMessage) => boolean, Fault][] = [
    ["before a transaction begins", isBegin, "lose"],
    ["while one begins", isBegin, "lose-answer"],
    ["at a statement", isInsert, "lose"],
    ["at the answer to a statement", isInsert, "lose-answer"],
    ["before the commit arrives", isCommit, "lose"],
    ["at the answer to the commit", isCommit, "lose-answer"],
  ];
  test.each(points)("%s makes the change exactly once", async (_, matches, fault) => {
    const { proxy, ledger, location } = await throughProxy();
    proxy.choose = once(matches, fault);
    const before = proxy.seen.length;
    // A second begin of the same operation would be refused.
    await ledger.begin(attachOperation("op"));
    expect(proxy.seen.slice(before).filter(isBegin).length).toBeGreaterThan(1);
    expect(await ledger.load()).toMatchObject({ serial: 1, inDoubt: [{ id: "op" }] });
    expect(await askServer(`select serial::int from ${schemaOf(location)}.meta`)).toEqual([{ serial: 1 }]);
  });

  test.each([
    ["a transaction begins", isBegin],
    ["a transaction is committed", isCommit],
  ])(
    "of a process stopped for longer than every timeout while %s makes each change once",
    async (_, matches) => {
      const { proxy, ledger, location } = await throughProxy();
      let due = true;
      proxy.choose = (message) => {
        if (due && matches(message)) {
          due = false;
          setImmediate(blockProcess, 12_500);
        }
        return "pass";
      };
      // Concurrent, as in a run: the last ones wait for the first.
      await Promise.all(["a", "b", "c"].map((id) => ledger.begin(attachOperation(id))));
      expect((await ledger.load()).inDoubt.map(({ id }) => id).sort()).toEqual(["a", "b", "c"]);
      expect(await askServer(`select count(*)::int as count from ${schemaOf(location)}.operations`)).toEqual([
        { count: 3 },
      ]);
    },
  );

  test("at a read is opened again", async () => {
    const { proxy, ledger } = await throughProxy();
    await ledger.record([attached(1)]);
    proxy.choose = once(({ text }) => text.includes('from "attachments"'), "lose");
    expect((await ledger.load()).attachments).toHaveLength(1);
  });

  test("closed by the server while idle is opened again", async () => {
    const location = await freshRole((role) => `alter role ${role} superuser`);
    const ledger = await openForTest(location);
    await ledger.record([attached(1)]);
    const { username } = new URL(location);
    const ended = await askServer(
      `select pg_terminate_backend(pid) from pg_stat_activity where usename = '${username}'`,
    );
    expect(ended.length).toBeGreaterThan(0);
    await ledger.record([attached(2)]);
    expect((await ledger.load()).attachments).toHaveLength(2);
  });
});

/** A server that writes commits 100 ms after they are sent, so that a crash loses them. */
async function startSlowServer(): Promise<pg.Client> {
  const settings = ["fsync=on", "commit_delay=100000", "commit_siblings=0", "wal_writer_delay=10s"];
  const server = await startPostgres(settings);
  onTestFinished(server.stop);
  const client = new pg.Client({ connectionString: server.url });
  client.on("error", () => {});
  await client.connect();
  return client;
}

/** Kills the server process of the running commit; the server ends all other processes and recovers. */
async function crashAtCommit(client: pg.Client): Promise<void> {
  const committing =
    "select pid from pg_stat_activity where application_name = 'draftsync' and query = 'commit'";
  for (;;) {
    const { rows } = await client.query<{ pid: number }>(`${committing} and state = 'active'`);
    const [found] = rows;
    if (found !== undefined) return void process.kill(found.pid, "SIGKILL");
  }
}

describe("PostgreSQL crash that loses a commit", () => {
  test("makes the change again", async () => {
    const client = await startSlowServer();
    const url = `postgres://tester:tester-password@${client.host}:${client.port}/postgres?schema=crash`;
    const ledger = await openForTest(url);
    await ledger.startRun(sampleRun);
    const [stored] = await Promise.all([ledger.begin(attachOperation("op")), crashAtCommit(client)]);
    expect(stored).toBeUndefined();
    const asked = new pg.Client({ connectionString: url });
    await asked.connect();
    onTestFinished(() => asked.end());
    expect((await asked.query("select id from crash.operations")).rows).toEqual([{ id: "op" }]);
  });
});

describe("the marks of commits", () => {
  test("are one row a connection, however many transactions it commits", async () => {
    const location = freshSchema();
    const ledger = await openForTest(location);
    for (let id = 1; id <= 50; id += 1) await ledger.record([attached(id)]);
    const marks = await askServer(`select connection from ${schemaOf(location)}.commits`);
    expect(marks.length).toBeLessThanOrEqual(4);
  });

  test("that the server refuses are a failure of the ledger, not a commit in doubt", async () => {
    const location = freshSchema();
    const ledger = await openForTest(location);
    const full = "raise exception using errcode = 'disk_full', message = 'no space'";
    await askServer(`
      create function ${schemaOf(location)}.refuse() returns trigger language plpgsql as $$ begin ${full}; end $$;
      create trigger refuse before insert or update on ${schemaOf(location)}.commits
        for each row execute function ${schemaOf(location)}.refuse()`);
    await expect(ledger.record([attached(1)])).rejects.toMatchObject({ code: "ledger-disk-full" });
  });
});

describe("commit without a response from a server that cannot be reached again", () => {
  test.each([
    { name: "is reported as unknown when it was not stored", fault: "refuse", stored: 0 },
    { name: "is reported as unknown when it was stored", fault: "lose-answer", stored: 1 },
  ] as const)("$name", async ({ fault, stored }) => {
    const { proxy, ledger, location } = await throughProxy(hurriedClock());
    let committed = false;
    proxy.choose = (message) => {
      if (committed) return "refuse";
      committed = isCommit(message);
      return committed ? fault : "pass";
    };
    const ends = await Promise.allSettled([
      ledger.begin(attachOperation("a")),
      ledger.begin(attachOperation("b")),
    ]);
    for (const end of ends) {
      expect(end).toMatchObject({
        reason: {
          name: "LedgerError",
          code: "ledger-outcome-unknown",
          message: expect.stringContaining("could not be found out"),
          hint: expect.stringContaining("run again"),
        },
      });
    }
    proxy.choose = () => "pass";
    // The write lock is free when the server has finished the interrupted transactions.
    await ledger.record([attached(9)]);
    const rows = await askServer(`select serial::int from ${schemaOf(location)}.meta`);
    expect(rows).toEqual([{ serial: stored + 1 }]);
    expect((await ledger.load()).inDoubt).toHaveLength(stored * 2);
  });
});

test("an unreachable server is an error, and the ledger works again once the server is back", async () => {
  const { proxy, ledger } = await throughProxy(hurriedClock());
  proxy.choose = () => "refuse";
  await expect(ledger.record([attached(1)])).rejects.toMatchObject({
    code: "ledger-unreachable",
    hint: expect.stringContaining("running"),
  });
  await expect(ledger.load()).rejects.toMatchObject({ code: "ledger-unreachable" });
  proxy.choose = () => "pass";
  await ledger.record([attached(1)]);
  expect((await ledger.load()).attachments).toHaveLength(1);
});

/** A clock that advances by half a second with every reading. */
function countingClock() {
  let elapsed = 0;
  return { now: () => 0, monotonic: () => (elapsed += 500) };
}

test("an unreachable server is waited for once, however many changes are to be stored", async () => {
  const clock = countingClock();
  const { proxy, ledger } = await throughProxy(clock);
  await ledger.record([attached(1)]);
  proxy.choose = () => "refuse";
  const since = clock.monotonic();
  for (let fileId = 2; fileId <= 6; fileId += 1) {
    await expect(ledger.record([attached(fileId)])).rejects.toMatchObject({ code: "ledger-unreachable" });
  }
  // One wait of 10 s; the other records read the clock only a few times.
  expect(clock.monotonic() - since).toBeLessThan(30_000);
  proxy.choose = () => "pass";
  await ledger.record([attached(7)]);
});

test("a server that does not speak PostgreSQL is an error", async () => {
  const server = createServer((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
  const port = await listenLocally(server);
  onTestFinished(() => void server.close());
  const opened = openForTest(`postgres://me:secret@127.0.0.1:${port}/d`, hurriedClock());
  await expect(opened).rejects.toMatchObject({ name: "LedgerError", hint: expect.any(String) });
});

test("a connection refused for a missing password is closed with the ledger", async () => {
  const proxy = await startPostgresProxy();
  const url = new URL(proxy.through(freshSchema()));
  url.password = "";
  await expect(openForTest(url.href)).rejects.toMatchObject({ code: "ledger-access-denied" });
  await proxy.drained();
  expect(proxy.seen.filter(isBegin)).toEqual([]);
});

describe("PostgreSQL session", () => {
  test("has no state: every statement is unnamed and in a transaction that makes its own settings", async () => {
    const { proxy, ledger } = await throughProxy();
    await ledger.begin(attachOperation("op"));
    await ledger.finish("op", { outcome: "done", attempts: 1 }, [attached(1)]);
    await ledger.export();
    await ledger.close();
    const statements = proxy.seen.filter(({ type }) => type === "Q" || type === "P");
    expect(statements.filter(({ type }) => type === "P").length).toBeGreaterThan(5);
    expect(statements.filter(({ name }) => name !== "")).toEqual([]);
    const texts = statements.map(({ text }) => text).join("\n");
    expect(texts).not.toMatch(/\b(listen|prepare|declare|discard|temp|temporary)\b|pg_(try_)?advisory_lock/i);
    expect(texts.match(/set_config\(.*?\)/g)?.filter((each) => !/, true\)$/.test(each))).toEqual([]);
    expect(proxy.seen.filter(isBegin).length).toBeGreaterThan(3);
  });

  test("ignores a weaker durability and another search path of the role", async () => {
    const location = await freshRole(
      (role) =>
        `alter role ${role} superuser; alter role ${role} set synchronous_commit = off; alter role ${role} set search_path = pg_temp`,
    );
    const ledger = await openForTest(location);
    // The trigger records the setting of the writing transaction.
    await askServer(`create table ${schemaOf(location)}.levels (level text);
      create function ${schemaOf(location)}.note() returns trigger language plpgsql as
        'begin insert into ${schemaOf(location)}.levels values (current_setting(''synchronous_commit'')); return new; end';
      create trigger note before update on ${schemaOf(location)}.meta for each row execute function ${schemaOf(location)}.note()`);
    await ledger.record([attached(1)]);
    expect(await askServer(`select level from ${schemaOf(location)}.levels`)).toEqual([{ level: "on" }]);
  });
});

test("a ledger locked for too long is an error, and works again once it is free", async () => {
  const location = freshSchema();
  const ledger = await openForTest(location, hurriedClock());
  await ledger.record([attached(1)]);
  const lock = await holdLock(location);
  await expect(ledger.record([attached(2)])).rejects.toMatchObject({
    code: "ledger-busy",
    hint: expect.stringContaining("Wait"),
  });
  expect((await ledger.load()).attachments).toHaveLength(1);
  await lock.release();
  await ledger.record([attached(3)]);
  expect((await ledger.load()).attachments.map(({ fileId }) => fileId)).toEqual([1, 3]);
});
