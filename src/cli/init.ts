import { Option } from "commander";
import type { Cli, DefineCommand } from "./cli.ts";
import { examples } from "./cli.ts";
import { CliError } from "./cli-error.ts";
import type { InitAnswers } from "./init-answers.ts";
import { type Pipeline, pipelines } from "./init-pipeline.ts";

interface InitFlags {
  readonly workspace?: string;
  readonly baseUrl?: string;
  readonly draft?: string;
  readonly pipeline?: Pipeline;
  readonly force?: boolean;
}

/** `draftsync init` */
export const defineInit: DefineCommand = (program, cli) => {
  program
    .command("init")
    .summary("write a config and a first manifest")
    .description(
      "Writes draftsync.yaml, a first manifest, the JSON Schemas of both for editors, what git is to leave alone, and, if wanted, " +
        "a pipeline. On a terminal it asks for what is not given, and again when an answer will not do.",
    )
    .argument("[folder]", "where to", ".")
    .option("--workspace <name>", "name of the workspace (default: that of the folder)")
    .option("--base-url <url>", "address of the service, or `sandbox` (default: sandbox)")
    .option("--draft <id>", "id of the first draft (default: 1)")
    .addOption(
      new Option("--pipeline <system>", "also write the pipeline for it (default: none)").choices(pipelines),
    )
    .option("--force", "write over files that are there")
    .addHelpText(
      "after",
      examples(
        "draftsync init",
        "draftsync init shop --workspace shop --base-url https://api.example.com --draft 48213",
        "draftsync init --pipeline github",
      ),
    )
    .action((folder: string, flags: InitFlags) => runInit(cli, folder, flags));
};

async function runInit(cli: Cli, folder: string, flags: InitFlags): Promise<void> {
  const { basename, join, resolve } = await import("node:path");
  const { askForAnswers } = await import("./init-answers.ts");
  const { ignoredIn, workspaceFiles } = await import("./init-files.ts");
  const { writeAll } = await import("./init-write.ts");
  const root = resolve(cli.cwd, folder);
  const given = {
    workspace: flags.workspace,
    service: flags.baseUrl,
    draft: flags.draft,
    pipeline: flags.pipeline,
  };
  const answers = await askForAnswers(cli, given, safeName(basename(root)));
  const files = await workspaceFiles(answers);
  await refuseOverwriting(root, Object.keys(files), flags);
  const ignored = await ignoredIn(root);
  const written = { ...files, ...(ignored === undefined ? {} : { ".gitignore": ignored }) };
  await writeAll(root, written);
  for (const name of Object.keys(written)) cli.terminal.err(`wrote ${join(folder, name)}\n`);
  cli.terminal.err(nextSteps(folder, answers));
}

function nextSteps(folder: string, { service, pipeline }: InitAnswers): string {
  const local = service === "sandbox";
  const steps = [
    ...(folder === "." ? [] : [`cd ${folder}`]),
    ...(local ? [] : ["export DRAFTSYNC_API_KEY=…   # the access key of the service"]),
    local
      ? "draftsync validate          # checks manifests/first-draft.yaml; make it yours"
      : "draftsync doctor            # checks address, key and limits",
    "draftsync plan              # what would change, and what it costs",
    "draftsync apply             # carries it out, after asking",
  ];
  const secrets =
    pipeline === "none"
      ? ""
      : "\nThe pipeline needs a ledger in PostgreSQL and two secrets: what to set is at the top of its file, which belongs\ninto the root of the repository.\n";
  return `\nNext:\n${steps.map((step) => `  ${step}\n`).join("")}${secrets}`;
}

/** A folder's name as a workspace's. */
function safeName(name: string): string {
  return (
    name
      .toLowerCase()
      .replace(/[^a-z0-9._-]+/g, "-")
      .replace(/^[^a-z0-9]+/, "")
      .slice(0, 63) || "workspace"
  );
}

async function refuseOverwriting(
  root: string,
  names: readonly string[],
  { force }: InitFlags,
): Promise<void> {
  const { lstat } = await import("node:fs/promises");
  const { join } = await import("node:path");
  if (force) return;
  for (const name of names) {
    const there = await lstat(join(root, name)).then(
      () => true,
      () => false,
    );
    if (!there) continue;
    throw new CliError(`${join(root, name)} is there already; nothing was written`, {
      code: "already-initialised",
      hint: "Choose another folder, or add --force to write over it.",
    });
  }
}
