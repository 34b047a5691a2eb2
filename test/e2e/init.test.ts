import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Folder } from "../support/cli.ts";
import { draftsync, makeFolder } from "../support/cli.ts";
import { startOnScreen } from "../support/screen.ts";
import { readText } from "../support/source-files.ts";

let empty: Folder;
beforeEach(async () => {
  empty = await makeFolder();
});
afterEach(() => empty.dispose());

const at = (...args: string[]) => draftsync(args, { cwd: empty.path });

describe("init", () => {
  test("writes what validates, and can be planned and applied at once; and does not write over it", async () => {
    expect((await at("init", "shop", "--draft", "48213")).code).toBe(0);
    const inShop = (...args: string[]) => draftsync(args, { cwd: `${empty.path}/shop` });
    expect((await inShop("validate")).code).toBe(0);
    const plan = await inShop("plan");
    expect(plan).toMatchObject({ code: 0, stdout: expect.stringContaining("drafts/48213") });
    expect((await inShop("apply", "--auto-approve")).code).toBe(0);
    expect((await inShop("plan", "--detailed-exitcode")).code).toBe(0);
    expect(await at("init", "shop")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("[already-initialised]"),
    });
  });

  test("names, for editors, schemas that are there", async () => {
    await at("init");
    for (const file of ["draftsync.yaml", "manifests/first-draft.yaml"]) {
      const [, schema = ""] = /^# yaml-language-server: \$schema=(\S+)\n/.exec(await empty.read(file)) ?? [];
      const folder = file.slice(0, file.lastIndexOf("/") + 1);
      expect(JSON.parse(await empty.read(`${folder}${schema}`)), file).toHaveProperty("$schema");
    }
  });

  test.each([
    { system: "github", file: ".github/workflows/draftsync.yml" },
    { system: "gitlab", file: ".gitlab-ci.yml" },
  ])("writes the pipeline for $system as the example has it", async ({ system, file }) => {
    const { code, stderr } = await at("init", "--pipeline", system, "--base-url", "https://api.example.com");
    expect(code).toBe(0);
    expect(stderr).toContain(`wrote ${file}\n`);
    expect(await empty.read(file)).toBe(readText(`examples/${system}/${file}`));
    expect((await at("validate")).code).toBe(0);
    expect((await at("plan")).code).toBe(0);
  });

  test.each([
    ["--draft", "007"],
    ["--workspace", "My Shop"],
    ["--base-url", "example.com"],
    ["--pipeline", "jenkins"],
  ])("%s %s is refused before anything is written", async (flag, value) => {
    expect((await at("init", flag, value)).code).toBe(1);
    expect(await readdir(empty.path)).toEqual([]);
  });

  test("leaves nothing when it is interrupted between two questions", async () => {
    const child = await startOnScreen(["init"], { cwd: empty.path, columns: 100 });
    const asks = (question: string) => child.until((lines) => lines.some((line) => line.includes(question)));
    await asks("Name of the workspace");
    child.type("shop\r");
    await asks("Address of the service");
    child.type("\u0003");
    expect(await child.ended, child.written()).not.toBe(0);
    expect(child.written()).toContain("nothing was written");
    expect(existsSync(`${empty.path}/draftsync.yaml`)).toBe(false);
    expect(await readdir(empty.path)).toEqual([]);
  });
});
