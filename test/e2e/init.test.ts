import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { npmEnvironment, packDraftsync, runProgram } from "../faults/support/example.ts";
import type { Folder } from "../support/cli.ts";
import { draftsync, makeFolder } from "../support/cli.ts";
import { startOnScreen } from "../support/screen.ts";
import { skipNote } from "../support/shells.ts";
import { readText } from "../support/source-files.ts";

let empty: Folder;
/** Packages and the home folder of npm. */
let elsewhere: Folder;
beforeEach(async () => {
  empty = await makeFolder();
  elsewhere = await makeFolder();
});
afterEach(async () => {
  await empty.dispose();
  await elsewhere.dispose();
});

const at = (...args: string[]) => draftsync(args, { cwd: empty.path, env: npmEnvironment(elsewhere.path) });

describe("init", () => {
  test("writes a workspace that can be validated, planned and applied, and refuses to overwrite it", async () => {
    expect((await at("init", "shop", "--draft", "48213")).code).toBe(0);
    const inShop = (...args: string[]) => draftsync(args, { cwd: `${empty.path}/shop` });
    expect((await inShop("validate")).code).toBe(0);
    const plan = await inShop("plan");
    expect(plan).toMatchObject({ code: 0, stdout: expect.stringContaining("drafts/48213") });
    expect((await inShop("apply", "--auto-approve")).code).toBe(0);
    expect((await inShop("plan", "--detailed-exitcode")).code).toBe(0);
    expect(await at("init", "shop")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("[already-initialized]"),
    });
  });

  test("refers to schemas that exist", async () => {
    await at("init");
    for (const file of ["draftsync.yaml", "manifests/first-draft.yaml"]) {
      const [, schema = ""] = /^# yaml-language-server: \$schema=(\S+)\n/.exec(await empty.read(file)) ?? [];
      const folder = file.slice(0, file.lastIndexOf("/") + 1);
      expect(JSON.parse(await empty.read(`${folder}${schema}`)), file).toHaveProperty("$schema");
    }
  });

  test("writes no ids that apply would send to a service, and the plan reports that nothing is declared", async () => {
    expect((await at("init", "--base-url", "https://api.example.com", "--draft", "48213")).code).toBe(0);
    const manifest = await empty.read("manifests/first-draft.yaml");
    expect(manifest.match(/^[^#].*$/gm)).toEqual(["draft: 48213"]);
    const { code, stdout, stderr } = await at("plan");
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining("No changes.") });
    expect(stderr + stdout).toContain("[nothing-declared]");
    await empty.write({ "manifests/first-draft.yaml": manifest.replaceAll(/^# (?!Remove|yaml)/gm, "") });
    expect((await at("validate")).stdout).toContain("1 draft, 2 attachments");
    expect((await at("plan")).stdout).toContain("2 to create, 1 to publish");
  });

  test.each([
    { system: "github", file: ".github/workflows/draftsync.yml" },
    { system: "gitlab", file: ".gitlab-ci.yml" },
  ])("writes the pipeline for $system exactly as the example has it", async ({ system, file }) => {
    const packed = await packDraftsync(elsewhere);
    const args = ["--base-url", "https://api.example.com", "--pipeline", system, "--package", packed];
    const { code, stderr } = await at("init", ...args);
    expect(code, stderr).toBe(0);
    expect(stderr).toContain(`wrote ${file}\n`);
    expect(await empty.read(".gitignore")).toContain("node_modules/\n");
    expect(await empty.read(file)).toBe(readText(`examples/${system}/${file}`));
    expect((await at("validate")).code).toBe(0);
    expect((await at("plan")).code).toBe(0);
  });

  // npm calls `git submodule`, a script that needs sed.
  const note = skipNote("git", "sed");
  test.skipIf(note !== "")(
    `packs a commit, keeps the other dependencies of package.json, and npm installs it by the lockfile${note}`,
    async () => {
      const built = join(elsewhere.path, "built");
      await packDraftsync(elsewhere);
      await cp(join(elsewhere.path, "stand-in"), built, { recursive: true });
      const git = (...args: string[]) =>
        execFileSync("git", ["-c", "user.name=test", "-c", "user.email=test@example.com", ...args], {
          cwd: built,
          encoding: "utf8",
        });
      git("init", "--quiet");
      git("add", "--all");
      git("commit", "--quiet", "--message=all");
      const commit = git("rev-parse", "HEAD").trim();
      await empty.write({
        "draftsync.yaml": "mine\n",
        "package.json": JSON.stringify({ name: "mine", private: true, scripts: { lint: "true" } }),
      });
      const spec = `git+file://${built}#${commit}`;
      const { code, stderr } = await at("init", "--package", spec);
      expect(code, stderr).toBe(0);
      expect(await empty.read("draftsync.yaml")).toBe("mine\n");
      expect(JSON.parse(await empty.read("package.json"))).toMatchObject({
        name: "mine",
        scripts: { lint: "true" },
        dependencies: { draftsync: "file:vendor/draftsync-0.1.0.tgz" },
      });
      const lock = await empty.read("package-lock.json");
      expect(lock).toContain('"integrity": "sha512-');
      expect(lock).not.toContain("https://");
      const env = npmEnvironment(elsewhere.path);
      const install = () => runProgram("npm", ["ci", "--ignore-scripts"], { cwd: empty.path, env });
      expect(await install()).toMatchObject({ code: 0 });
      const version = await runProgram("node_modules/.bin/draftsync", ["--version"], {
        cwd: empty.path,
        env,
      });
      expect(version).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
      await empty.write({ "package-lock.json": lock.replace(/sha512-.{8}/, "sha512-AAAAAAAA") });
      expect(await install()).toMatchObject({ code: 1, stderr: expect.stringContaining("EINTEGRITY") });
    },
  );

  test.each([
    { name: "nothing", args: [], code: "package-missing" },
    { name: "a package name from a registry", args: ["--package", "draftsync@0.1.0"], code: "invalid-flag" },
    { name: "a branch", args: ["--package", "github:owner/draftsync#main"], code: "invalid-flag" },
    { name: "a missing file", args: ["--package", "gone.tgz"], code: "package-unusable" },
    {
      name: "a package with a different name",
      args: ["--package", "other-1.0.0.tgz"],
      code: "package-unusable",
    },
  ])("refuses to write a pipeline that would install $name", async ({ args, code }) => {
    const options = { cwd: elsewhere.path, env: npmEnvironment(elsewhere.path) };
    if (args.includes("other-1.0.0.tgz")) {
      await elsewhere.write({ "other/package.json": '{ "name": "other", "version": "1.0.0" }' });
      await runProgram("npm", ["pack", "./other"], options);
    }
    const refused = await draftsync(["init", empty.path, "--pipeline", "github", ...args], options);
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining(`[${code}]`) });
    expect(await readdir(empty.path)).toEqual([]);
  });

  test("refuses a pipeline outside the root of its repository", async () => {
    await empty.write({ ".git/HEAD": "ref: refs/heads/main\n" });
    const args = ["init", "shop", "--base-url", "https://api.example.com", "--pipeline", "github"];
    const refused = await at(...args, "--package", "gone.tgz");
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("[pipeline-not-in-root]") });
    expect(await readdir(empty.path)).toEqual([".git"]);
  });

  test.each([
    ["--draft", "007"],
    ["--workspace", "My Shop"],
    ["--base-url", "example.com"],
    ["--pipeline", "jenkins"],
  ])("rejects %s %s before anything is written", async (flag, value) => {
    expect((await at("init", flag, value)).code).toBe(1);
    expect(await readdir(empty.path)).toEqual([]);
  });

  test("writes nothing when it is interrupted between two questions", async () => {
    const child = await startOnScreen(["init"], { cwd: empty.path, columns: 100 });
    const asks = (question: string) => child.until((lines) => lines.some((line) => line.includes(question)));
    await asks("Workspace name");
    child.type("shop\r");
    await asks("Service address");
    child.type("\u0003");
    expect(await child.ended, child.written()).not.toBe(0);
    expect(child.written()).toContain("nothing was written");
    expect(existsSync(`${empty.path}/draftsync.yaml`)).toBe(false);
    expect(await readdir(empty.path)).toEqual([]);
  });
});
