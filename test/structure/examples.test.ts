import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { filesBelow, readText, repository } from "../support/source-files.ts";

describe.each(["github", "gitlab", "kubernetes", "systemd"])("examples/%s", (name) => {
  const folder = `examples/${name}`;

  test("is a whole repository", () => {
    for (const file of ["README.md", "draftsync.yaml", ".gitignore"])
      expect(existsSync(`${repository}${folder}/${file}`), file).toBe(true);
    expect(filesBelow(`${folder}/manifests`, ".yaml").length).toBeGreaterThan(0);
    expect(readText(`${folder}/.gitignore`).split("\n")).toEqual(
      expect.arrayContaining([".draftsync/", "plan.json"]),
    );
  });

  test("says what to do when a job ends with 3, 4, 5, 6 or 7", () => {
    const rows = [...readText(`${folder}/README.md`).matchAll(/^\| (\d) \|/gm)].map(([, code]) =>
      Number(code),
    );
    expect(rows).toEqual([3, 4, 5, 6, 7]);
  });
});
