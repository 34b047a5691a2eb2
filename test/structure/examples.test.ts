import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { filesBelow, readText, repository } from "../support/source-files.ts";

describe.each(["github", "gitlab", "kubernetes", "systemd"])("examples/%s", (name) => {
  const folder = `examples/${name}`;

  test("is a complete repository", () => {
    for (const file of ["README.md", "draftsync.yaml", ".gitignore"])
      expect(existsSync(`${repository}${folder}/${file}`), file).toBe(true);
    expect(filesBelow(`${folder}/manifests`, ".yaml").length).toBeGreaterThan(0);
    expect(readText(`${folder}/.gitignore`).split("\n")).toEqual(
      expect.arrayContaining([".draftsync/", "plan.json"]),
    );
  });
});

test.each(["compose", "github", "gitlab", "kubernetes", "kubernetes/fleet", "systemd"])(
  "examples/%s explains exit codes 3, 4, 5, 6 and 7",
  (name) => {
    const rows = [...readText(`examples/${name}/README.md`).matchAll(/^\| (\d) \|/gm)];
    expect(rows.map(([, code]) => Number(code))).toEqual([3, 4, 5, 6, 7]);
  },
);
