import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { makeProgram } from "../../../src/cli/program.ts";
import type { Folder } from "../../support/cli.ts";
import { makeFolder } from "../../support/cli.ts";

let folder: Folder;

beforeEach(async () => {
  folder = await makeFolder();
});
afterEach(() => folder.dispose());

/** Runs `init` for somebody who gives these answers, one after the other, and then leaves. */
async function init(answers: readonly string[], ...args: string[]) {
  const left = [...answers];
  const said: string[] = [];
  const { signal } = new AbortController();
  const cli = {
    env: {},
    cwd: folder.path,
    terminal: {
      out: () => {},
      err: (text: string) => void said.push(text),
      paintOut: (_style: unknown, text: string) => text,
      paintErr: (_style: unknown, text: string) => text,
      interactive: true,
      log: ({ text }: { readonly text: string }) => void said.push(text),
      adjust: () => {},
      readAll: async () => "",
      ask: async (question: string) => {
        said.push(question);
        return left.shift();
      },
    },
    signal,
    interrupts: { drain: signal, cutOff: signal },
    end: () => {},
  };
  const ended = await makeProgram(cli, "0.0.0")
    .parseAsync(["init", ...args], { from: "user" })
    .then(
      () => undefined,
      (error: unknown) => error,
    );
  return { ended, said, left };
}

const questions = (said: readonly string[]) => said.filter((text) => text.endsWith("]: "));

describe("init on a terminal", () => {
  test("asks again, at once, for each answer that will not do, and says why", async () => {
    const answers = ["My Shop", "shop", "example.com", "https://api.example.com", "007", "x", "7"];
    const { ended, said, left } = await init(answers);
    expect(ended).toBeUndefined();
    expect(left).toEqual([]);
    expect(questions(said).map((text) => text.split(" ")[0])).toEqual([
      "Name",
      "Name",
      "Address",
      "Address",
      "Id",
      "Id",
      "Id",
    ]);
    expect(said.slice(0, 2)[1]).toMatch(/My Shop is no name for a workspace.*\n {2}hint: Use lower-case/);
    expect(await folder.read("draftsync.yaml")).toContain("workspace: shop\n");
    expect(await folder.read("draftsync.yaml")).toContain('base_url: "https://api.example.com"');
    expect(await folder.read("manifests/first-draft.yaml")).toContain("draft: 7\n");
  });

  test("takes what is offered for an empty answer", async () => {
    const { ended } = await init(["", " ", ""]);
    expect(ended).toBeUndefined();
    expect(await folder.read("draftsync.yaml")).toContain("service: sandbox");
    expect(await folder.read("manifests/first-draft.yaml")).toContain("draft: 1\n");
  });

  test("asks nothing when what was given will not do", async () => {
    const { ended, said } = await init(["shop"], "--draft", "007");
    expect(ended).toMatchObject({ code: "bad-flag", message: "007 is no draft id" });
    expect(said).toEqual([]);
  });

  test("asks only for what was not given", async () => {
    const { ended, said } = await init(["7"], "--workspace", "shop", "--base-url", "sandbox");
    expect(ended).toBeUndefined();
    expect(questions(said)).toEqual(["Id of the first draft [1]: "]);
  });

  test("writes nothing when the answers end", async () => {
    const { ended } = await init(["shop"]);
    expect(ended).toMatchObject({ code: "stopped" });
    await expect(folder.read("draftsync.yaml")).rejects.toThrow("ENOENT");
  });
});
