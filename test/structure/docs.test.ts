import { existsSync } from "node:fs";
import { posix } from "node:path";
import { describe, expect, test } from "vitest";
import { nameOf, PAIRS } from "../conformance/support/interface.ts";
import { filesBelow, readText, repository } from "../support/source-files.ts";

const pages = [
  "README.md",
  "CONTRIBUTING.md",
  "CHANGELOG.md",
  ...filesBelow("docs", ".md").map(({ path }) => path),
];

describe("docs/interface.md", () => {
  const table = readText("docs/interface.md")
    .split("\n")
    .filter((line) => /^\| \d+ \|/.test(line))
    .map((line) => line.split("|").map((cell) => cell.trim()));

  test("has a row for each of the fifteen pairs, in the order of the document", () => {
    expect(table.map(([, , pair]) => pair?.replaceAll("`", ""))).toEqual(PAIRS.map(nameOf));
  });

  test("names client tests and conformance files that are there", () => {
    const requests = readText("test/unit/service/requests.test.ts");
    for (const [, , , , client = "", sandbox = ""] of table) {
      for (const name of client.split("; ")) expect(requests).toContain(`name: "${name}"`);
      for (const file of sandbox.replaceAll("`", "").split(", ")) {
        expect(existsSync(`${repository}test/conformance/${file}.test.ts`), file).toBe(true);
      }
    }
  });
});

describe("docs/dependencies.md", () => {
  test("gives a reason for each dependency, and for no other", () => {
    const { dependencies, devDependencies } = JSON.parse(readText("package.json"));
    const wanted = [...Object.keys(dependencies), ...Object.keys(devDependencies)].sort();
    const rows = readText("docs/dependencies.md")
      .split("\n")
      .filter((line) => line.startsWith("| `"));
    const named = rows.flatMap((line) =>
      [...(line.split("|")[1] ?? "").matchAll(/`([^`]+)`/g)].map(([, name]) => name),
    );
    expect(named.sort()).toEqual(wanted);
  });
});

describe("the lockfile", () => {
  test("records no address and no install script", () => {
    expect(readText("package-lock.json")).not.toMatch(
      /https?:\/\/(?!opencollective|github\.com|tidelift|feross|www\.)|"resolved"|hasInstallScript/,
    );
  });
});

describe("links", () => {
  test.each(pages)("of %s lead somewhere", (page) => {
    const links = [...readText(page).matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, target = ""]) => target);
    const broken = links.filter((target) => !existsSync(posix.join(repository, posix.dirname(page), target)));
    expect(broken).toEqual([]);
  });
});
