import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Folder } from "../support/cli.ts";
import { draftsync, makeFolder } from "../support/cli.ts";
import { placeCommand, type ShellName, skipNote, typeInto } from "../support/shells.ts";

const hostile = `it's $(touch pwned) \`touch pwned\` "x" & <y>; #z`;
const name = (text: string) => JSON.stringify(text);

let folder: Folder;

beforeAll(async () => {
  folder = await makeFolder({
    "draftsync.yaml": "version: 1\nworkspace: w\nservice: sandbox\n",
    "manifests/a.yaml": `draft: 7
product_files:
  - source: ${name(`../files/${hostile}.obj`)}
  - source: ../files/plain=1:2.obj
    file_format: obj
promotional_files:
  - file_id: 10
publish: true
---
duplicates:
  - { name: ${name(hostile)}, product: 5 }
`,
    "files/local.json": "{}",
  });
  await folder.write({ "files/plain=1:2.obj": "v 0 0 0\n", [`files/${hostile}.obj`]: "v 1 1 1\n" });
  await placeCommand(folder);
});
afterAll(() => folder.dispose());

/** Candidates for these words, one line each. */
const offered = async (...words: string[]) => {
  const ended = await draftsync(["__complete", "fish", "--", ...words], { cwd: folder.path });
  expect(ended).toMatchObject({ code: 0, stderr: "" });
  return ended.stdout.split("\n").slice(1, -1);
};

describe("completion candidates", () => {
  test("include every command with its description, except the completion command itself", async () => {
    const commands = await offered("");
    expect(commands).toContain("explain\texplain an error code, and what to do");
    expect(commands.join("\n")).not.toContain("__complete");
  });

  test("include the values of a flag", async () => {
    expect(await offered("plan", "--refresh", "")).toEqual(["none", "budget", "full"]);
    expect(await offered("doctor", "--kind", "pro")).toEqual(["product_files", "promotional_files"]);
    expect(await offered("explain", "yaml-t")).toEqual([
      "yaml-tab\tA tab is used for indentation",
      "yaml-tag\tA tag is not allowed",
    ]);
  });

  test("include addresses in the manifests and, after an apply, recorded addresses", async () => {
    expect(await offered("plan", "--target", "drafts/7/pro")).toEqual([
      "drafts/7/product",
      `drafts/7/product_files/source:files/${hostile}.obj`,
      "drafts/7/product_files/source:files/plain=1:2.obj",
      "drafts/7/promotional_files/10",
    ]);
    expect(await offered("state", "show", "")).toEqual([]);
    const one = await makeFolder({
      "draftsync.yaml": "version: 1\nworkspace: w\nservice: sandbox\n",
      "manifests/a.yaml": "draft: 3\nproduct_files:\n  - file_id: 10\n    file_format: fbx\n",
    });
    try {
      await draftsync(["apply", "--auto-approve"], { cwd: one.path });
      const { stdout } = await draftsync(["__complete", "zsh", "--", "state", "show", ""], { cwd: one.path });
      expect(stdout).toBe("words\ndrafts/3\ndrafts/3/product_files/10\n");
      const elsewhere = ["__complete", "zsh", "--", "state", "show", "--config", "none.yaml", ""];
      expect((await draftsync(elsewhere, { cwd: one.path })).stdout).toBe("words\n");
    } finally {
      await one.dispose();
    }
  });

  test("are empty, without an error or a new file, when the config or the ledger cannot be read", async () => {
    const broken = await makeFolder({ "draftsync.yaml": "version: [1\n" });
    try {
      const words = ["__complete", "zsh", "--", "plan", "--target", ""];
      const silent = { code: 0, stdout: "words\n", stderr: "" };
      expect(await draftsync(words, { cwd: broken.path })).toEqual(silent);
      expect(await draftsync(words, { cwd: "/" })).toEqual(silent);
      const env = { DRAFTSYNC_STATE: "postgres://nobody@192.0.2.1/none" };
      expect(await draftsync(words, { cwd: folder.path, env })).toMatchObject({ code: 0, stderr: "" });
      expect(await draftsync(["__complete"], { cwd: folder.path })).toMatchObject({ code: 0, stderr: "" });
      expect(existsSync(`${folder.path}/.draftsync`)).toBe(false);
    } finally {
      await broken.dispose();
    }
  });
});

describe("bash completion without a terminal", () => {
  /** COMPREPLY after the completion function ran for this line. */
  const replies = (line: string) =>
    execFileSync(
      "bash",
      [
        "--noprofile",
        "--norc",
        "-c",
        `source <(draftsync completion bash); COMP_LINE=$1 COMP_POINT=4096; _draftsync; printf '%s\\n' "\${COMPREPLY[@]}"`,
        "bash",
        line,
      ],
      {
        cwd: folder.path,
        env: { PATH: `${folder.path}/bin:${process.env.PATH}`, HOME: folder.path },
        encoding: "utf8",
      },
    )
      .split("\n")
      .slice(0, -1);

  test("returns only the text after the last word break, because bash keeps the text before it", () => {
    expect(replies("draftsync plan --format=t")).toEqual(["text"]);
    expect(replies("draftsync plan --target drafts/7/product_files/source:files/pl")).toEqual([
      "files/plain=1:2.obj",
    ]);
    expect(replies("draftsync plan --target drafts/7/product_files/source:files/plain=1:")).toEqual([
      "2.obj",
    ]);
    expect(replies("draftsync state ")).toContain("show");
    expect(replies("draftsync nothing --what=")).toEqual([""]);
  });
});

/** Keys that are pressed, and the arguments of the completed command. */
const typed = [
  { keys: "draftsync sta\tsh\tx", args: ["state", "show", "x"] },
  {
    keys: "draftsync plan --target drafts/7/product_files/source:files/p\t",
    args: ["plan", "--target", "drafts/7/product_files/source:files/plain=1:2.obj"],
  },
  {
    keys: "draftsync plan --target drafts/7/product_files/source:files/i\t",
    args: ["plan", "--target", `drafts/7/product_files/source:files/${hostile}.obj`],
  },
  { keys: "draftsync plan --target duplicates/\t", args: ["plan", "--target", `duplicates/${hostile}`] },
  { keys: 'draftsync plan --target "duplicates/\t', args: ["plan", "--target", `duplicates/${hostile}`] },
  { keys: "draftsync apply files/lo\t", args: ["apply", "files/local.json"] },
];

describe.each(["bash", "zsh", "fish"] satisfies ShellName[])("completion in %s", (shell) => {
  const note = skipNote(shell);

  test.skipIf(note !== "").each(typed)(`completes $keys${note}`, async ({ keys, args }) => {
    expect(await typeInto(shell, folder, keys)).toEqual(args);
    expect(existsSync(`${folder.path}/pwned`)).toBe(false);
  });
});
