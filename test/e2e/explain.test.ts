import { tmpdir } from "node:os";
import { describe, expect, test } from "vitest";
import { draftsync, makeFolder } from "../support/cli.ts";

const explain = (...args: string[]) => draftsync(["explain", ...args], { cwd: tmpdir() });

describe("explain", () => {
  test("says what a code means, what to do, and the exit code that it ends with", async () => {
    const { code, stdout, stderr } = await explain("lock-held");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^lock-held: Another process holds the workspace's lock\n/);
    expect(stdout).toContain("`draftsync lock release ID`");
    expect(stdout).toContain("\nThe command ends with exit code 6.\n");
    for (const line of stdout.split("\n")) expect(line.length).toBeLessThanOrEqual(100);
  });

  test("takes the code as it stands in a message, and gives it as JSON", async () => {
    const { code, stdout } = await explain("[Too-Many-Deletes]", "--json");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ format_version: 1, code: "too-many-deletes", ending: 5 });
  });

  test("lists every code without one", async () => {
    const { stdout } = await explain();
    expect(stdout).toContain("\nThe ledger and its lock\n");
    expect(stdout).toMatch(/\n {2}yaml-tab {2,}A tab stands where YAML wants spaces\n/);
    const { codes } = JSON.parse((await explain("--json")).stdout);
    expect(stdout.match(/^ {2}[a-z0-9-]+ {2,}\S/gm)).toHaveLength(codes.length);
  });

  test("offers what is like a code that there is not", async () => {
    const misspelled = await explain("lock-hold");
    expect(misspelled).toMatchObject({ code: 1, stdout: "" });
    expect(misspelled.stderr).toMatch(
      /there is no code lock-hold {2}\[unknown-code\]\n {2}hint: Did you mean lock-held, /,
    );
    const part = await explain("deletes");
    expect(part.stderr).toContain("deletes-held-back, too-many-deletes");
    expect((await explain("\u001b[31mqqqqqqqq")).stderr).not.toContain("\u001b");
  });

  test("knows the code that a command has just given, and a log is not told of it", async () => {
    const folder = await makeFolder();
    try {
      const { stderr } = await draftsync(["plan"], { cwd: folder.path });
      const [, given = ""] = /\[([a-z-]+)\]/.exec(stderr) ?? [];
      expect(given).toBe("config-missing");
      expect(stderr).not.toContain("explain");
      expect((await explain(given)).code).toBe(0);
    } finally {
      await folder.dispose();
    }
  });
});
