import { execFile } from "node:child_process";
import { mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { startSandbox } from "../../src/sandbox/server.ts";
import { type Folder, makeFolder } from "../support/cli.ts";
import { readText, repository } from "../support/source-files.ts";

const run = promisify(execFile);

const settings = {
  compilerOptions: {
    target: "es2023",
    module: "nodenext",
    strict: true,
    exactOptionalPropertyTypes: true,
    types: ["node"],
    rootDir: ".",
    outDir: "built",
  },
  include: ["*.ts"],
};

/** A folder with the package and the compiled examples of the page, each named by its first line. */
async function compileExamples(): Promise<Folder> {
  const blocks = [...readText("docs/library.md").matchAll(/^```ts\n\/\/ (\S+)\n(.*?)^```$/gms)];
  const examples = Object.fromEntries(blocks.map(([, name = "", text = ""]) => [name, text]));
  expect(Object.keys(examples)).toEqual(["generate.ts", "apply.ts", "sandbox.test.ts", "check.ts"]);
  const folder = await makeFolder({
    "package.json": '{ "type": "module" }',
    "tsconfig.json": JSON.stringify(settings),
    ...examples,
  });
  await mkdir(join(folder.path, "node_modules"));
  await symlink(repository, join(folder.path, "node_modules/draftsync"));
  await symlink(join(repository, "node_modules/@types"), join(folder.path, "node_modules/@types"));
  const tsc = join(repository, "node_modules/typescript/bin/tsc");
  const { stdout } = await run(process.execPath, [tsc], { cwd: folder.path }).catch((error) => error);
  expect(stdout).toBe("");
  return folder;
}

test("the examples of docs/library.md compile and do what the page says", async () => {
  const key = "canary-key-71ab";
  const sandbox = await startSandbox({ key });
  onTestFinished(() => sandbox.close());
  const folder = await compileExamples();
  onTestFinished(() => folder.dispose());
  await folder.write({
    "draftsync.yaml": `version: 1\nworkspace: w\nservice: { base_url: ${sandbox.url} }\n`,
  });
  const env = { ...process.env, DRAFTSYNC_API_KEY: key };
  const node = (...args: readonly string[]) => run(process.execPath, args, { cwd: folder.path, env });

  await node("built/generate.js");
  expect(await folder.read("manifests/48213.yaml")).toMatch(
    /^# Written by a program.*\n\ndraft: 48213\ntitle: Sea Serpent\n/,
  );
  await node("built/check.js");
  const applied = await node("built/apply.js");
  expect(applied.stdout).toContain("drafts/48213/product done\n");
  expect(applied.stdout).toMatch(/^done 5$/m);
  expect(applied.stderr).toContain("Created a new ledger");
  expect(sandbox.state().products.map(({ draftId }) => draftId)).toEqual([48213]);
  const { stdout } = await node("--test", "built/sandbox.test.js");
  expect(stdout).toContain("pass 1");
});

test("TypeScript rejects a file with two identifiers, none, or an unknown attribute", async () => {
  const folder = await compileExamples();
  onTestFinished(() => folder.dispose());
  const wrong = [
    "{ file_id: 1, source: 'a.fbx' }",
    "{ file_format: 'fbx' }",
    "{ file_id: 1, format: 'fbx' }",
    "{ file_id: '1' }",
  ];
  const files = wrong.map((entry, index) => [
    `wrong${index}.ts`,
    `import { defineDraft } from "draftsync";\ndefineDraft({ draft: 1, product_files: [${entry}] });\n`,
  ]);
  await folder.write(Object.fromEntries(files));
  const tsc = join(repository, "node_modules/typescript/bin/tsc");
  const failed: { stdout: string } = await run(process.execPath, [tsc], { cwd: folder.path }).catch(
    (error) => error,
  );
  const faults = [...failed.stdout.matchAll(/^(\w+)\.ts\(/gm)].map(([, name]) => name);
  expect(faults).toEqual(wrong.map((_entry, index) => `wrong${index}`));
});
