import { readdir, symlink } from "node:fs/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { pipelineFile, writeAll } from "../../../src/cli/init/files.ts";
import { makeProgram } from "../../../src/cli/program.ts";
import { noInterrupts } from "../../../src/cli/runtime/interrupts.ts";
import { type Folder, makeFolder } from "../../support/cli.ts";

let folder: Folder;

beforeEach(async () => {
  folder = await makeFolder();
});
afterEach(() => folder.dispose());

/** Runs `init` with these answers, then ends the input. */
async function init(answers: readonly string[], ...args: string[]) {
  const unused = [...answers];
  const output: string[] = [];
  const interrupts = noInterrupts();
  const cli = {
    env: {},
    cwd: folder.path,
    terminal: {
      out: () => {},
      show: () => {},
      err: (text: string) => void output.push(text),
      paintOut: (_style: unknown, text: string) => text,
      paintErr: (_style: unknown, text: string) => text,
      interactive: true,
      isAttached: true,
      isVerbose: false,
      log: ({ text }: { readonly text: string }) => output.push(text) > 0,
      adjust: () => {},
      readAll: async () => "",
      ask: async (question: string) => {
        output.push(question);
        return unused.shift();
      },
    },
    signal: interrupts.drain,
    interrupts,
    end: () => {},
  };
  const ended = await makeProgram(cli, "0.0.0")
    .parseAsync(["init", ...args], { from: "user" })
    .then(
      () => undefined,
      (error: unknown) => error,
    );
  return { ended, output, unused };
}

const questions = (output: readonly string[]) => output.filter((text) => text.endsWith("]: "));

describe("init on a terminal", () => {
  test("asks again after each invalid answer, with the reason", async () => {
    const answers = [
      "My Shop",
      "shop",
      "example.com",
      "https://api.example.com",
      "007",
      "x",
      "7",
      "jenkins",
      "None",
    ];
    const { ended, output, unused } = await init(answers);
    expect(ended).toBeUndefined();
    expect(unused).toEqual([]);
    const asked = questions(output).map((text) => text.split(" ")[0]);
    expect(asked.join(" ")).toBe("Workspace Workspace Service Service Id Id Id Pipeline Pipeline");
    expect(output[1]).toMatch(/"My Shop" is not a valid workspace name.*\n {2}hint: Use up to 63 lower-case/);
    expect(await folder.read("draftsync.yaml")).toContain("workspace: shop\n");
    expect(await folder.read("draftsync.yaml")).toContain('base_url: "https://api.example.com"');
    expect(await folder.read("manifests/first-draft.yaml")).toContain("draft: 7\n");
  });

  test("asks for the package that a pipeline installs, and rejects a registry name", async () => {
    const given = ["--workspace", "shop", "--base-url", "sandbox", "--draft", "7", "--pipeline", "github"];
    const { ended, output } = await init(["draftsync@0.1.0", "github:owner/draftsync#main"], ...given);
    expect(ended).toMatchObject({ code: "stopped" });
    expect(output.filter((text) => text.startsWith("draftsync package to install"))).toHaveLength(3);
    expect(output.shift()).toContain("the pipeline would publish to a service that ends with its job");
    expect(output[1]).toContain('"draftsync@0.1.0" is neither a packed file (.tgz) nor a git commit');
    expect(output[3]).toContain("with all 40 digits");
    expect(await readdir(folder.path)).toEqual([]);
  });

  test("uses the default for an empty answer", async () => {
    const { ended } = await init(["", " ", "", ""]);
    expect(ended).toBeUndefined();
    expect(await folder.read("draftsync.yaml")).toContain("service: sandbox");
    expect(await folder.read("manifests/first-draft.yaml")).toContain("draft: 1\n");
    expect((await readdir(folder.path)).sort()).toEqual([
      ".gitignore",
      "draftsync.schema.json",
      "draftsync.yaml",
      "manifests",
    ]);
  });

  test("asks nothing when a flag is invalid", async () => {
    const { ended, output } = await init(["shop"], "--draft", "007");
    expect(ended).toMatchObject({ code: "invalid-flag", message: '"007" is not a valid draft id' });
    expect(output).toEqual([]);
  });

  test("asks only for values that no flag gives", async () => {
    const given = ["--workspace", "shop", "--base-url", "sandbox", "--pipeline", "none"];
    const { ended, output } = await init(["7"], ...given);
    expect(ended).toBeUndefined();
    expect(questions(output)).toEqual(["Id of the first draft [1]: "]);
  });

  test("writes nothing when the answers end", async () => {
    const { ended } = await init(["shop"]);
    expect(ended).toMatchObject({ code: "stopped" });
    expect(await readdir(folder.path)).toEqual([]);
  });
});

describe("files of init", () => {
  const quick = ["--workspace", "shop", "--base-url", "sandbox", "--draft", "7", "--pipeline", "none"];

  test.each(["123", "007", "1e5", "null", "true"])("have the workspace name %s as text", async (name) => {
    await init([], ...quick.with(1, name));
    expect(parse(await folder.read("draftsync.yaml"))).toMatchObject({ workspace: name });
  });

  test.each(["https://u:p@host", "https://host?q", "https://host#f", "https://host:99999"])(
    "are not written with the invalid address %s",
    async (url) => {
      const { ended } = await init([], ...quick.with(3, url));
      expect(ended).toMatchObject({ code: "base-url-invalid" });
      expect(await readdir(folder.path)).toEqual([]);
    },
  );

  test("add missing lines to a .gitignore once, and keep the rest", async () => {
    await folder.write({ ".gitignore": "node_modules/\n/plan.json" });
    expect((await init([], ...quick)).ended).toBeUndefined();
    const once = "node_modules/\n/plan.json\n.draftsync/\nplan.md\nplan.html\n";
    expect(await folder.read(".gitignore")).toBe(once);
    const again = await init([], ...quick, "--force");
    expect(again.ended).toBeUndefined();
    expect(again.output.join("")).not.toContain("wrote .gitignore");
    expect(await folder.read(".gitignore")).toBe(once);
  });

  test("are all written or none", async () => {
    await folder.write({ manifests: "a file where a folder is to be", "draftsync.yaml": "mine\n" });
    const { ended } = await init([], ...quick, "--force");
    expect(ended).toMatchObject({ code: "not-written" });
    expect((await readdir(folder.path)).sort()).toEqual(["draftsync.yaml", "manifests"]);
    expect(await folder.read("draftsync.yaml")).toBe("mine\n");
    const { ended: elsewhere } = await init([], "manifests/below", ...quick);
    expect(elsewhere).toMatchObject({ code: "not-written" });
  });

  test("never overwrite a path, not even a broken link", async () => {
    await symlink("nowhere", `${folder.path}/draftsync.schema.json`);
    expect((await init([], ...quick)).ended).toMatchObject({ code: "already-initialized" });
    expect(await readdir(folder.path)).toEqual(["draftsync.schema.json"]);
  });

  test("are followed by the next three commands in the output", async () => {
    const commands = (output: readonly string[]) => (output.at(-1) ?? "").match(/draftsync \w+/g);
    expect(commands((await init([], ...quick)).output)).toEqual([
      "draftsync validate",
      "draftsync plan",
      "draftsync apply",
    ]);
    const remote = await init([], "shop", ...quick.with(3, "https://api.example.com"));
    expect(remote.output.at(-1)).toMatch(/^\nNext:\n {2}cd shop\n {2}export DRAFTSYNC_API_KEY=/);
    expect(commands(remote.output)).toEqual(["draftsync doctor", "draftsync plan", "draftsync apply"]);
  });
});

test.each(["main", "master", "topic"])(
  "the pipeline of init applies merges into the main branch when on branch %s",
  async (branch) => {
    await folder.write({ ".git/HEAD": `ref: refs/heads/${branch}\n` });
    const [text = ""] = Object.values(await pipelineFile("github", folder.path));
    const applied = branch === "master" ? "master" : "main";
    expect(parse(text).on.push.branches).toEqual([applied]);
    expect(new Set(text.match(/refs\/heads\/\w+/g))).toEqual(new Set([`refs/heads/${applied}`]));
  },
);

test("undoing what was written keeps what was saved since", async () => {
  await folder.write({ "a.yaml": "before", "b.yaml": "before" });
  const undo = await writeAll(folder.path, {
    "a.yaml": "written",
    "b.yaml": "written",
    "new/c.yaml": "written",
  });
  await folder.write({ "a.yaml": "saved", "new/mine.yaml": "mine" });
  await undo();
  expect(await folder.read("a.yaml")).toBe("saved");
  expect(await folder.read("b.yaml")).toBe("before");
  expect(await readdir(`${folder.path}/new`)).toEqual(["mine.yaml"]);
});
