import { EventEmitter } from "node:events";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { JoinedWrites } from "../../../src/cli/terminal/joined-writes.ts";

function open() {
  const written: string[] = [];
  const process = new EventEmitter();
  const joined = new JoinedWrites(process);
  return {
    written,
    process,
    joined,
    err: joined.join((text) => written.push(`err ${text}`)),
    out: joined.join((text) => written.push(`out ${text}`)),
  };
}

test("what one turn brings for a stream is one write, and the next turn's another", async () => {
  const { written, err } = open();
  err("a");
  err("b");
  expect(written).toEqual([]);
  await nextTurn();
  expect(written).toEqual(["err ab"]);
  err("c");
  await nextTurn();
  await nextTurn();
  expect(written).toEqual(["err ab", "err c"]);
});

test("two streams stay in the order in which they were written to", async () => {
  const { written, err, out } = open();
  err("a");
  out("b");
  out("c");
  err("d");
  await nextTurn();
  expect(written).toEqual(["err a", "out bc", "err d"]);
});

test("when the process ends, and after that, nothing waits for a turn that never comes", () => {
  const { written, process, err } = open();
  err("a");
  process.emit("exit");
  err("b");
  expect(written).toEqual(["err a", "err b"]);
});

test("what has to be seen now is written now, once", async () => {
  const { written, joined, err } = open();
  err("a");
  joined.flush();
  joined.flush();
  expect(written).toEqual(["err a"]);
  await nextTurn();
  expect(written).toEqual(["err a"]);
});
