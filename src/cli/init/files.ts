import { mkdir, readFile, rm, rmdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { stringify } from "yaml";
import { manifestJsonSchema } from "../../manifest/manifest-schema.ts";
import { messageOf, systemCodeOf } from "../../model/errors.ts";
import { readIfThere, replaceFile } from "../../model/replace-file.ts";
import { configJsonSchema } from "../config-schema.ts";
import { packageFolder } from "../package-files.ts";
import { CliError } from "../runtime/cli-error.ts";
import type { InitAnswers, Pipeline } from "./answers.ts";

/** The files of a workspace by their names in it; not `.gitignore`, which may be there. */
export function workspaceFiles(answers: InitAnswers): Readonly<Record<string, string>> {
  return {
    "draftsync.yaml": configText(answers),
    "draftsync.schema.json": jsonText(configJsonSchema()),
    "manifests/first-draft.yaml": manifestText(answers),
    "manifests/manifest.schema.json": jsonText(manifestJsonSchema()),
  };
}

/** Files that do not belong in a commit: the ledger of this machine, recovery logs, and saved plans, which apply once. */
const ignored = [".draftsync/", "plan.json", "plan.md", "plan.html"];

/**
 * The text of `.gitignore` with what it lacks added at its end; `undefined` when it lacks nothing. `installs`: npm
 * installs draftsync here. Throws {@link CliError}.
 */
export async function ignoredIn(root: string, installs: boolean): Promise<string | undefined> {
  const path = join(root, ".gitignore");
  const before = await readFile(path, "utf8").catch((error: unknown) => {
    if (systemCodeOf(error) === "ENOENT") return "";
    throw new CliError(`${path} cannot be read: ${messageOf(error)}`, {
      code: "not-written",
      hint: "Make the file readable and writable. Nothing was written.",
      cause: error,
    });
  });
  const lines = new Set(before.split(/\r?\n/).map((line) => line.trim()));
  const wanted = installs ? [...ignored, "node_modules/"] : ignored;
  const lacking = wanted.filter((line) => !lines.has(line) && !lines.has(`/${line}`));
  if (lacking.length === 0) return undefined;
  const joint = before === "" || before.endsWith("\n") ? "" : "\n";
  return `${before}${joint}${lacking.map((line) => `${line}\n`).join("")}`;
}

function configText({ workspace, service, pipeline }: InitAnswers): string {
  const where =
    service === "sandbox"
      ? "service: sandbox   # a service on this machine, stored next to the ledger; later: { base_url: https://… }\n"
      : `service:\n  base_url: ${JSON.stringify(service)}\n  rate: { limit: 10, window: 1s }   # at most this many calls in any window\n`;
  const shared =
    pipeline === "none"
      ? ""
      : "# The ledger of this machine. The pipeline sets DRAFTSYNC_STATE, which overrides it: use the same when you run apply yourself.\n";
  return `# yaml-language-server: $schema=draftsync.schema.json
# The API key comes from DRAFTSYNC_API_KEY, never from this file.
version: 1
workspace: ${stringify(workspace).trimEnd()}
manifests: ["manifests/**/*.{yaml,yml}"]
${where}${shared}state: .draftsync/state.db
`;
}

/** With invented ids for the sandbox; for any other service they are comments, so that no apply sends them. */
function manifestText({ draft, service }: InitAnswers): string {
  const files = service === "sandbox" ? exampleFiles : exampleFiles.replaceAll(/^/gm, "# ").trimEnd();
  const first = service === "sandbox" ? "" : "# Remove the # below, and write the ids of your files.\n";
  return `# yaml-language-server: $schema=manifest.schema.json
draft: ${draft}
${first}${files.trimEnd()}
# publish: true             # publishes a product from the draft; it cannot be undone
`;
}

const exampleFiles = `product_files:
  - file_id: 9900011        # a file that is uploaded already; or source: files/dragon.blend
    file_format: fbx
    format_version: "2020"  # quote versions so that YAML keeps them as text
    is_native: false
promotional_files:
  - file_id: 9900044
    description: |
      What a buyer should know, in as many lines as it takes.
`;

function jsonText(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

/** The path of the pipeline in a repository. */
const paths = { github: ".github/workflows/draftsync.yml", gitlab: ".gitlab-ci.yml" } as const;

/** The file of a pipeline: those of `examples/`, which come with the package, for the main branch of the repository in `root`. */
export async function pipelineFile(
  system: Pipeline,
  root: string,
): Promise<Readonly<Record<string, string>>> {
  if (system === "none") return {};
  const { readFile } = await import("node:fs/promises");
  const path = paths[system];
  const text = await readFile(new URL(`examples/${system}/${path}`, packageFolder), "utf8");
  const head = await readFile(join(root, ".git/HEAD"), "utf8").catch(() => "");
  // Any other branch is more likely one for this change than the one that is applied.
  if (head.trim() !== "ref: refs/heads/master") return { [path]: text };
  return { [path]: text.replaceAll("refs/heads/main", "refs/heads/master").replace("[main]", "[master]") };
}

/** Removes a folder and those above it up to `top`, as long as they are empty. */
async function removeEmpty(folder: string, top: string): Promise<void> {
  await rmdir(folder);
  if (folder !== top) await removeEmpty(dirname(folder), top);
}

/** The content of a file that `init` writes. */
export type FileContent = string | Uint8Array;

/**
 * Writes files below a folder, all of them or none: when one cannot be written, those before it stay unchanged, and
 * folders that were made for them are gone. Returns a function that undoes it, except for what was changed since. Throws
 * {@link CliError} `not-written`.
 */
export async function writeAll(
  root: string,
  files: Readonly<Record<string, FileContent>>,
): Promise<() => Promise<void>> {
  const steps: (() => Promise<void>)[] = [];
  const undo = async () => {
    for (const step of steps) await step().catch(() => {});
  };
  for (const [name, text] of Object.entries(files)) {
    const path = join(root, name);
    try {
      const before = await readIfThere(path);
      const made = await mkdir(dirname(path), { recursive: true });
      if (made !== undefined) steps.unshift(() => removeEmpty(dirname(path), made));
      steps.unshift(async () => {
        const now = await readIfThere(path);
        // An editor may have saved the file meanwhile.
        if (now === undefined || Buffer.compare(now, Buffer.from(text)) !== 0) return;
        await (before === undefined ? rm(path, { force: true }) : replaceFile(path, before));
      });
      await replaceFile(path, text);
    } catch (error) {
      // The original error is enough: it says which file could not be written.
      await undo();
      throw new CliError(`${path} cannot be written: ${messageOf(error)}`, {
        code: "not-written",
        hint: "Choose a writable folder.",
        cause: error,
      });
    }
  }
  return undo;
}
