import { cpSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import type { Ended, Folder } from "../support/cli.ts";
import { draftsync, makeFolder, startShell } from "../support/cli.ts";

const dragon = "draft: 1\npromotional_files:\n  - file_id: 11\n    description: Dragon\n";
const lantern = "draft: 2\nproduct_files:\n  - file_id: 22\n";

/** A workspace with two applied drafts, each from its own manifest. Every test works on a copy. */
let origin: Folder;
let folder: Folder;
const at = (path: string) => join(folder.path, path);
const run = (...args: string[]) => draftsync(args, { cwd: folder.path });

function configure(...patterns: readonly string[]): void {
  const list = patterns.map((pattern) => `  - "${pattern}"\n`).join("");
  writeFileSync(at("draftsync.yaml"), `version: 1\nworkspace: w\nservice: sandbox\nmanifests:\n${list}`);
}

beforeAll(async () => {
  origin = await makeFolder({
    "draftsync.yaml": "version: 1\nworkspace: w\nservice: sandbox\n",
    "manifests/dragon.yaml": dragon,
    "manifests/shop/lantern.yaml": lantern,
  });
  expect(await draftsync(["apply", "--auto-approve"], { cwd: origin.path })).toMatchObject({ code: 0 });
});
afterAll(() => origin.dispose());

beforeEach(async () => {
  folder = await makeFolder();
  onTestFinished(() => folder.dispose());
  cpSync(origin.path, folder.path, { recursive: true });
});

test("a manifest renamed to the other extension is the same manifest", async () => {
  renameSync(at("manifests/shop/lantern.yaml"), at("manifests/shop/lantern.yml"));
  expect(await run("plan", "--detailed-exitcode")).toMatchObject({ code: 0 });
});

test("a manifest that no pattern matches any more is named", async () => {
  configure("manifests/**/*.yaml");
  renameSync(at("manifests/shop/lantern.yaml"), at("manifests/shop/lantern.yml"));
  const { stdout, stderr } = await run("plan");
  expect(stdout + stderr).toContain("manifests/shop/lantern.yml");
  expect(stdout + stderr).toContain("[manifest-unmatched]");
});

describe("apply stops with a message that names the cause when", () => {
  test.each([
    {
      name: "a folder in a pattern was renamed",
      change: () => {
        configure("manifests/*.yaml", "manifests/shop/*.yaml");
        renameSync(at("manifests/shop"), at("manifests/shops"));
      },
      messages: ['The folder "manifests/shop"', "draftsync.yaml:6:5", 'Did you mean "manifests/shops"?'],
    },
    {
      name: "a link to a folder is broken",
      change: () => {
        renameSync(at("manifests/shop"), at("shop"));
        symlinkSync("../elsewhere", at("manifests/shop"));
      },
      messages: ["Cannot read manifests/shop", "a link that leads nowhere"],
    },
    {
      name: "a manifest is empty",
      change: () => writeFileSync(at("manifests/shop/lantern.yaml"), ""),
      messages: ["manifests/shop/lantern.yaml:1:1", "[empty-file]"],
    },
    {
      name: "a folder has the name of a manifest",
      change: () => {
        renameSync(at("manifests/shop/lantern.yaml"), at("lantern"));
        mkdirSync(at("manifests/shop/lantern.yaml"));
      },
      messages: ["manifests/shop/lantern.yaml", "not a regular file"],
    },
    {
      name: "a quote is not closed",
      change: () => writeFileSync(at("manifests/dragon.yaml"), dragon.replace("Dragon\n", '"say \\"')),
      messages: ["This quote is never closed", "manifests/dragon.yaml:4:18"],
    },
  ])("$name", async ({ change, messages }) => {
    change();
    const { code, stdout, stderr } = await run("apply", "--auto-approve");
    expect(code).toBe(1);
    for (const text of messages) expect(stdout + stderr).toContain(text);
  });
});

test("a description with U+0085 is updated and deletes nothing", async () => {
  writeFileSync(at("manifests/dragon.yaml"), dragon.replace("Dragon", "Dragon\u0085Sea"));
  const { stdout } = await run("plan", "--format", "json");
  const { changes } = JSON.parse(stdout);
  expect(changes).toMatchObject([{ action: "update", after: { description: "Dragon\u0085Sea" } }]);
  expect(await run("apply", "--auto-approve")).toMatchObject({ code: 0 });
  expect(await run("plan", "--detailed-exitcode")).toMatchObject({ code: 0 });
});

test("a duplicate renamed to another Unicode form is not copied again", async () => {
  const duplicates = (form: "NFC" | "NFD") =>
    writeFileSync(
      at("manifests/copies.yaml"),
      `draft: 3\npublish: true\n---\nduplicates:\n  - name: ${"Drâché".normalize(form)}\n    product: { draft: 3 }\n`,
    );
  duplicates("NFC");
  expect(await run("apply", "--auto-approve")).toMatchObject({ code: 0 });
  duplicates("NFD");
  expect(await run("plan", "--detailed-exitcode")).toMatchObject({ code: 0 });
});

test("too few file descriptors are not reported as a permission problem", async () => {
  const planWith = (limit: number) =>
    startShell(`ulimit -n ${limit}; $draftsync plan`, { cwd: folder.path }).ended;
  // Node versions need different numbers, so a binary search finds the highest limit that fails.
  let [tooLow, enough] = [10, 42];
  let failed: Ended | undefined;
  while (enough - tooLow > 1) {
    const limit = (tooLow + enough) >> 1;
    const ended = await planWith(limit);
    if (ended.code === 0) enough = limit;
    else [tooLow, failed] = [limit, ended];
  }
  const output = `${failed?.stdout}${failed?.stderr}`;
  expect(output).toContain("ulimit -n");
  expect(output).not.toMatch(/permission|readable and writable/i);
});

test("a misspelled sandbox in the config gets a suggestion", async () => {
  writeFileSync(
    at("draftsync.yaml"),
    readFileSync(at("draftsync.yaml"), "utf8").replace("sandbox", "sandbx"),
  );
  const { code, stdout, stderr } = await run("validate");
  expect(code).toBe(1);
  expect(stdout + stderr).toContain('Did you mean "sandbox"?');
});
