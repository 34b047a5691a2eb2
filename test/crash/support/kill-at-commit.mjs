// Loaded into the command that is killed (`node --import`): counts the commits of the ledger, and kills the process right
// before or right after one of them. DRAFTSYNC_TEST_KILL is `before:7`, `after:7`, or a file for the count.
import { writeFileSync } from "node:fs";
import Database from "libsql";

const [when, number] = (process.env.DRAFTSYNC_TEST_KILL ?? "").split(":");
const { exec } = Database.prototype;
let commits = 0;
Database.prototype.exec = function (text) {
  if (text !== "commit") return exec.call(this, text);
  commits += 1;
  const here = commits === Number(number);
  if (here && when === "before") process.kill(process.pid, "SIGKILL");
  const result = exec.call(this, text);
  if (here && when === "after") process.kill(process.pid, "SIGKILL");
  return result;
};
if (number === undefined) process.on("exit", () => writeFileSync(when, String(commits)));
