import { EventEmitter } from "node:events";
import xterm from "@xterm/headless";
import { expect, test } from "vitest";
import { LiveArea } from "../../../src/cli/terminal/live-area.ts";
import type { LiveLines } from "../../../src/report/live-lines.ts";

/** A live area on an emulated terminal, in a process that records its signals. */
function open(columns = 20, rows = 6) {
  const terminal = new xterm.Terminal({ cols: columns, rows, allowProposedApi: true });
  const writes: string[] = [];
  const resized = new EventEmitter();
  const killed: string[] = [];
  const process = Object.assign(new EventEmitter(), {
    pid: 17,
    kill: (_pid: number, signal: string) => void killed.push(signal),
  });
  const write = (text: string) => {
    writes.push(text);
    terminal.write(text.replaceAll("\n", "\r\n"));
  };
  const area = new LiveArea(
    {
      write,
      get columns() {
        return terminal.cols;
      },
      get rows() {
        return terminal.rows;
      },
      on: (event, listener) => resized.on(event, listener),
      off: (event, listener) => resized.off(event, listener),
    },
    process,
  );
  return {
    area,
    writes,
    process,
    killed,
    write,
    resize: (to: number) => {
      // The terminal must process earlier writes before it wraps them.
      return new Promise<void>((done) => {
        terminal.write("", () => {
          terminal.resize(to, rows);
          resized.emit("resize");
          done();
        });
      });
    },
    screen: () =>
      new Promise<string[]>((done) => {
        terminal.write("", () => {
          const { active } = terminal.buffer;
          const lines = Array.from(
            { length: active.length },
            (_none, at) => active.getLine(at)?.translateToString(true) ?? "",
          );
          done(lines.slice(0, lines.findLastIndex((line) => line !== "") + 1));
        });
      }),
    listeners: () => process.eventNames().length + resized.eventNames().length,
    isCursorHidden: () => writes.join("").lastIndexOf("?25l") > writes.join("").lastIndexOf("?25h"),
  };
}

const show =
  (...lines: readonly string[]): LiveLines =>
  (columns) =>
    lines.map((line) => ({ text: line.slice(0, columns), width: Math.min(columns, line.length) }));

test("rewrites lines in place, puts text above them, and removes them at the end", async () => {
  const { area, screen, isCursorHidden, listeners } = open();
  area.above("before\n");
  area.show(show("one", "two"));
  expect(await screen()).toEqual(["before", "one", "two"]);
  expect(isCursorHidden()).toBe(true);
  area.above("done a\n");
  area.show(show("three"));
  expect(await screen()).toEqual(["before", "done a", "three"]);
  area.show(show("four", "five", "six"));
  area.above("done b\n");
  area.hide();
  area.above("after\n");
  expect(await screen()).toEqual(["before", "done a", "done b", "after"]);
  expect(isCursorHidden()).toBe(false);
  expect(listeners()).toBe(0);
});

test("writes a frame at once, and an unchanged frame not again", () => {
  const { area, writes } = open();
  area.show(show("one"));
  area.show(show("one"));
  area.above("text\n");
  expect(writes).toHaveLength(2);
  for (const write of writes) {
    expect(write.startsWith("\u001b[?2026h")).toBe(true);
    expect(write.endsWith("\u001b[?2026l")).toBe(true);
  }
});

test("keeps the cursor visible without lines", async () => {
  const { area, screen, isCursorHidden } = open();
  area.show(show());
  area.above("text\n");
  expect(isCursorHidden()).toBe(false);
  area.show(show("one"));
  area.show(show());
  expect(isCursorHidden()).toBe(false);
  expect(await screen()).toEqual(["text"]);
});

test("shows no more lines than the terminal has, so that all can be erased", async () => {
  const { area, screen } = open(20, 4);
  area.show(show("1", "2", "3", "4", "5", "6"));
  area.above("text\n");
  area.hide();
  expect(await screen()).toEqual(["text"]);
});

test.each([8, 5, 40])("keeps the text above when the terminal becomes %i columns wide", async (columns) => {
  const { area, screen, resize } = open(20, 12);
  area.above("top\n");
  area.show(show("0123456789abcdef", "0123456789", "end"));
  await resize(columns);
  expect(await screen()).toEqual([
    "top",
    "0123456789abcdef".slice(0, columns - 1),
    "0123456789".slice(0, columns - 1),
    "end",
  ]);
  area.hide();
  expect(await screen()).toEqual(["top"]);
});

test("moves the lines below output of another stream", async () => {
  const { area, write, screen } = open();
  area.show(show("one", "two"));
  area.aside(() => write("result\n"));
  expect(await screen()).toEqual(["result", "one", "two"]);
});

test("restores the terminal when the process exits", async () => {
  const { area, process, screen, isCursorHidden } = open();
  area.show(show("one"));
  process.emit("exit");
  expect(await screen()).toEqual([]);
  expect(isCursorHidden()).toBe(false);
});

test.each(["SIGHUP", "SIGQUIT"])("restores the terminal and ends the process at %s", (signal) => {
  const { area, process, killed, isCursorHidden, listeners } = open();
  area.show(show("one"));
  process.emit(signal, signal);
  expect(isCursorHidden()).toBe(false);
  expect(killed).toEqual([signal]);
  expect(listeners()).toBe(0);
});

test("leaves a signal to another listener", () => {
  const { area, process, killed, isCursorHidden } = open();
  process.on("SIGHUP", () => {});
  area.show(show("one"));
  process.emit("SIGHUP", "SIGHUP");
  expect(killed).toEqual([]);
  expect(isCursorHidden()).toBe(true);
});

test("draws nothing while the process is stopped, and redraws the lines afterwards", async () => {
  const { area, process, killed, screen, isCursorHidden } = open();
  area.show(show("one"));
  process.emit("SIGTSTP");
  expect(killed).toEqual(["SIGTSTP"]);
  expect(isCursorHidden()).toBe(false);
  area.show(show("two"));
  area.above("text\n");
  expect(await screen()).toEqual(["text"]);
  process.emit("SIGCONT");
  expect(await screen()).toEqual(["text", "two"]);
  expect(isCursorHidden()).toBe(true);
  expect(process.listenerCount("SIGTSTP")).toBe(1);
});
