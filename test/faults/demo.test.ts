import { execFile } from "node:child_process";
import { cp, readFile, symlink } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { makeFolder } from "../support/cli.ts";
import { repository } from "../support/source-files.ts";

/** A built clone, without the files of an earlier demo. */
async function cloneBuilt(folder: string): Promise<void> {
  for (const name of ["dist", "manifests", "package.json"]) {
    await cp(`${repository}${name}`, join(folder, name), {
      recursive: true,
      filter: (path) => !path.includes("manifests/.draftsync"),
    });
  }
  await symlink(`${repository}node_modules`, join(folder, "node_modules"));
}

test("the demo plans and applies on a fresh clone, and the next plan is empty", async () => {
  const folder = await makeFolder();
  try {
    await cloneBuilt(folder.path);
    const { scripts } = JSON.parse(await readFile(join(folder.path, "package.json"), "utf8"));
    // `npm run demo` builds first; the test run has built already.
    const script = /node (\S+)$/.exec(scripts.demo)?.[1] ?? "";
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [script], {
      cwd: folder.path,
      env: { PATH: process.env.PATH, HOME: folder.path },
    });
    expect(stdout).toContain("34 to create, 1 to update, 2 to publish, 1 to duplicate");
    expect(stdout).toContain("No changes. Everything is up to date.");
    expect(stderr).toContain("Applied: 38 done.");
  } finally {
    await folder.dispose();
  }
});
