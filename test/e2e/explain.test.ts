import { tmpdir } from "node:os";
import { describe, expect, test } from "vitest";
import { draftsync, makeFolder } from "../support/cli.ts";

const explain = (...args: string[]) => draftsync(["explain", ...args], { cwd: tmpdir() });

describe("explain", () => {
  test("prints the cause of a code, what to do, and the exit code", async () => {
    const { code, stdout, stderr } = await explain("lock-held");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^lock-held: Another process holds the lock of the workspace\n/);
    expect(stdout).toContain("`draftsync lock release ID`");
    expect(stdout).toContain("\nExit code 6.\n");
    for (const line of stdout.split("\n")) expect(line.length).toBeLessThanOrEqual(100);
  });

  test("accepts a code in brackets and prints JSON", async () => {
    const { code, stdout } = await explain("[Too-Many-Deletes]", "--json");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ format_version: 1, code: "too-many-deletes", ending: 5 });
  });

  test("lists every code by area", async () => {
    const { stdout } = await explain();
    expect(stdout).toContain("\n\nLedger and lock\n");
    expect(stdout).toMatch(/\n {2}yaml-tab {2,}A tab is used for indentation\n/);
    const { codes } = JSON.parse((await explain("--json")).stdout);
    expect(stdout.match(/^ {2}[a-z0-9-]+ {2,}\S/gm)).toHaveLength(codes.length);
  });

  test("suggests similar codes for an unknown code", async () => {
    const misspelled = await explain("lock-hold");
    expect(misspelled).toMatchObject({ code: 1, stdout: "" });
    expect(misspelled.stderr).toMatch(
      /"lock-hold" is not an error code {2}\[unknown-code\]\n {2}hint: Did you mean lock-held, /,
    );
    const part = await explain("deletes");
    expect(part.stderr).toContain("deletes-excluded, too-many-deletes");
    expect((await explain("\u001b[31mqqqqqqqq")).stderr).not.toContain("\u001b");
  });

  test("explains the code of a failed command, and the failure does not mention explain", async () => {
    const folder = await makeFolder();
    try {
      const { stderr } = await draftsync(["plan"], { cwd: folder.path });
      const [, given = ""] = /\[([a-z-]+)\]/.exec(stderr) ?? [];
      expect(given).toBe("config-missing");
      expect(stderr).toContain("draftsync init");
      expect(stderr).not.toContain("explain");
      expect((await explain(given)).code).toBe(0);
    } finally {
      await folder.dispose();
    }
  });
});
