// Loaded into the command that is killed (`node --import`): counts the commits of the ledger, and kills the process right
// before or right after one of them; in PostgreSQL also with the commit on its way. DRAFTSYNC_TEST_KILL is `before:7`,
// `during:7`, `after:7`, or a file for the count.
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import pg from "pg";

const [when, number] = (process.env.DRAFTSYNC_TEST_KILL ?? "").split(":");
let commits = 0;

/** Whether this is the commit at which the process dies. */
function isLast() {
  commits += 1;
  return commits === Number(number);
}

function die() {
  process.kill(process.pid, "SIGKILL");
}

// The bundle contains libsql's JavaScript, and shares only the installed native module.
const requireOfLibsql = createRequire(createRequire(import.meta.url).resolve("libsql"));
const native = requireOfLibsql(`@libsql/${requireOfLibsql("@neon-rs/load").currentTarget()}`);
const { databaseExecSync } = native;
native.databaseExecSync = function (text) {
  if (text !== "commit" || !isLast()) return databaseExecSync.call(this, text);
  if (when === "before") die();
  databaseExecSync.call(this, text);
  return die();
};

const { query } = pg.Client.prototype;
pg.Client.prototype.query = function (...args) {
  const text = typeof args[0] === "string" ? args[0] : args[0]?.text;
  if (text !== "commit" || !isLast()) return query.apply(this, args);
  if (when === "before") die();
  const committed = query.apply(this, args);
  // The callback runs when the bytes are handed to the system; the server may or may not receive them.
  if (when === "during") this.connection.stream.write("", die);
  return committed.then(die);
};

if (number === undefined) process.on("exit", () => writeFileSync(when, String(commits)));
