import { execFileSync } from "node:child_process";
import { lstatSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { writeMetricsFile } from "../../../src/cli/reconcile/serve.ts";
import { readFormer } from "../../../src/model/replace-file.ts";
import { makeFolder } from "../../support/cli.ts";

const folderOf = async () => (await makeFolder({})).path;

test("keeps a link to a metrics file, and replaces its target", async () => {
  const folder = await folderOf();
  const [file, link] = [join(folder, "real.prom"), join(folder, "m.prom")];
  writeFileSync(file, "# HELP old\n");
  symlinkSync(file, link);
  expect(await writeMetricsFile(link, "new")).toBeUndefined();
  expect([lstatSync(link).isSymbolicLink(), readFileSync(file, "utf8")]).toEqual([true, "new"]);
});

test("does not replace a file with other content, such as a manifest", async () => {
  const file = join(await folderOf(), "castle.yaml");
  writeFileSync(file, "# The castle\ndraft_id: 1\n");
  expect(await writeMetricsFile(file, "new")).toContain("is there already, and holds no metrics");
  expect(readFileSync(file, "utf8")).toBe("# The castle\ndraft_id: 1\n");
});

test("does not read, write or replace a pipe", async () => {
  const pipe = join(await folderOf(), "m.prom");
  execFileSync("mkfifo", [pipe]);
  expect(await readFormer(pipe)).toBe("");
  expect(await writeMetricsFile(pipe, "new")).toContain("is not a regular file");
  expect(statSync(pipe).isFIFO()).toBe(true);
});

test("does not replace a device", async () => {
  const link = join(await folderOf(), "m.prom");
  symlinkSync("/dev/null", link);
  expect(await writeMetricsFile(link, "new")).toContain("is not a regular file");
  expect(lstatSync(link).isSymbolicLink()).toBe(true);
});
