import { existsSync } from "node:fs";
import { lstat, readFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { Option } from "commander";
import { quoteArgument } from "../../model/address.ts";
import { type Cli, type DefineCommand, examples } from "../cli.ts";
import { loadConfig } from "../config.ts";
import { askForAnswers, askForPackage, type InitAnswers, type Pipeline, pipelines } from "../init/answers.ts";
import type { FileContent } from "../init/files.ts";
import { CliError } from "../runtime/cli-error.ts";

interface InitFlags {
  readonly workspace?: string;
  readonly baseUrl?: string;
  readonly draft?: string;
  readonly pipeline?: Pipeline;
  readonly package?: string;
  readonly force?: boolean;
}

/** `draftsync init` */
export const defineInit: DefineCommand = (program, cli) => {
  program
    .command("init")
    .summary("write a config and a first manifest")
    .description(
      "Writes draftsync.yaml, a first manifest, JSON Schemas of both for editors, and .gitignore. --pipeline adds a pipeline; " +
        "--package adds a package.json, lockfile and packed file, so that `npm ci` installs draftsync. In a folder that has a " +
        "draftsync.yaml or fleet.yaml, both add only their own files. On a terminal, init asks for missing values.",
    )
    .argument("[folder]", "target folder", ".")
    .option("--workspace <name>", "name of the workspace (default: name of the folder)")
    .option("--base-url <url>", "address of the service, or `sandbox` (default: sandbox)")
    .option("--draft <id>", "id of the first draft (default: 1)")
    .addOption(
      new Option("--pipeline <system>", "also write a pipeline for this system (default: none)").choices(
        pipelines,
      ),
    )
    .option(
      "--package <file or commit>",
      "draftsync package that the pipeline installs: a file that `npm pack` wrote, or github:OWNER/REPOSITORY#COMMIT",
    )
    .option("--force", "overwrite existing files")
    .addHelpText(
      "after",
      examples(
        "draftsync init",
        "draftsync init shop --workspace shop --base-url https://api.example.com --draft 48213",
        "draftsync init --pipeline github --package ./draftsync-0.1.0.tgz",
      ),
    )
    .action((folder: string, flags: InitFlags) => runInit(cli, folder, flags));
};

async function runInit(cli: Cli, folder: string, flags: InitFlags): Promise<void> {
  const { ignoredIn, pipelineFile, workspaceFiles, writeAll } = await import("../init/files.ts");
  const root = resolve(cli.cwd, folder);
  const name = safeName(basename(root));
  const given = { workspace: flags.workspace, service: flags.baseUrl, draft: flags.draft };
  const isAddition = flags.package !== undefined || (flags.pipeline ?? "none") !== "none";
  const answers =
    isAddition && !flags.force && holdsConfig(root)
      ? undefined
      : await askForAnswers(cli, { ...given, pipeline: flags.pipeline }, name);
  const pipeline = answers?.pipeline ?? flags.pipeline ?? "none";
  if (pipeline !== "none") assertRepositoryRoot(root);
  if (pipeline !== "none" && (await usesSandbox(root, answers))) warnOfSandbox(cli);
  const needsPackage = flags.package !== undefined || pipeline !== "none";
  const spec = needsPackage ? await askForPackage(cli, flags.package) : undefined;
  const files = {
    ...(answers === undefined ? {} : workspaceFiles(answers)),
    ...(await pipelineFile(pipeline, root)),
  };
  await refuseOverwriting(root, files, flags);
  const ignored = await ignoredIn(root, needsPackage);
  const written = {
    ...files,
    ...(spec === undefined ? {} : await preparePackage(cli, { root, name, spec })),
    ...(ignored === undefined ? {} : { ".gitignore": ignored }),
  };
  await writeAll(root, written);
  for (const file of Object.keys(written)) cli.terminal.err(`wrote ${join(folder, file)}\n`);
  cli.terminal.err(
    `${answers === undefined ? "" : nextSteps(folder, answers)}${spec === undefined ? "" : packageSteps(pipeline)}`,
  );
}

/** Of a workspace or of a fleet. */
function holdsConfig(root: string): boolean {
  return ["draftsync.yaml", "fleet.yaml"].some((name) => existsSync(join(root, name)));
}

async function preparePackage(
  cli: Cli,
  options: { readonly root: string; readonly name: string; readonly spec: string },
): Promise<Readonly<Record<string, FileContent>>> {
  const { packageFiles } = await import("../init/package.ts");
  cli.terminal.err(`npm resolves ${options.spec} and its dependencies …\n`);
  return packageFiles(cli, options);
}

function nextSteps(folder: string, { service }: InitAnswers): string {
  const local = service === "sandbox";
  const steps = [
    ...(folder === "." ? [] : [`cd ${quoteArgument(folder)}`]),
    ...(local ? [] : ["export DRAFTSYNC_API_KEY=…   # API key of the service"]),
    local
      ? "draftsync validate          # check manifests/first-draft.yaml; edit it first"
      : "draftsync doctor            # check address, key and limits",
    "draftsync plan              # show what would change, and its cost",
    "draftsync apply             # apply the changes, after asking",
  ];
  return `\nNext:\n${steps.map((step) => `  ${step}\n`).join("")}`;
}

/** GitHub and GitLab read a pipeline in the root of a repository only, and run it there. */
function assertRepositoryRoot(root: string): void {
  if (existsSync(join(root, ".git"))) return;
  for (let folder = dirname(root); folder !== dirname(folder); folder = dirname(folder)) {
    if (!existsSync(join(folder, ".git"))) continue;
    throw new CliError(`${root} is not the root of its repository; nothing was written`, {
      code: "pipeline-not-in-root",
      hint: `A pipeline is read in the root of a repository only. Run this in ${folder}, or without --pipeline.`,
    });
  }
}

/** By the answers, or by the config that is there already; its mistakes are for the other commands to report. */
async function usesSandbox(root: string, answers: InitAnswers | undefined): Promise<boolean> {
  if (answers !== undefined) return answers.service === "sandbox";
  const config = await loadConfig({ cwd: root, env: {}, flags: {} }).catch(() => undefined);
  return config !== undefined && config.service.baseUrl === undefined;
}

/** A sandbox of a CI runner is gone after its job; what the ledger has of it is not. */
function warnOfSandbox({ terminal }: Cli): void {
  const text =
    "warning: the config uses the sandbox: the pipeline would publish to a service that ends with its job\n" +
    "  hint: Set service.base_url in draftsync.yaml before you commit the pipeline.\n";
  terminal.log({ level: "warning", text, code: "pipeline-uses-sandbox" });
}

function packageSteps(pipeline: Pipeline): string {
  const settings =
    pipeline === "none"
      ? ""
      : "The pipeline needs a ledger in PostgreSQL and secrets: the top of its file lists them. ";
  const how =
    pipeline === "github" ? ", by a pull request: a push without one ends the first job with an error" : "";
  return `\n${settings}Commit all of these files to the root\nof the repository${how}; \`npm ci\` and \`npx --no -- draftsync\` then run the same draftsync on every machine.\n`;
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

/** A file with the same content is no obstacle. */
async function refuseOverwriting(
  root: string,
  files: Readonly<Record<string, string>>,
  { force }: InitFlags,
): Promise<void> {
  if (force) return;
  for (const [name, text] of Object.entries(files)) {
    const path = join(root, name);
    const exists = await lstat(path).then(
      () => true,
      () => false,
    );
    if (!exists || (await readFile(path, "utf8").catch(() => undefined)) === text) continue;
    throw new CliError(`${path} exists already; nothing was written`, {
      code: "already-initialized",
      hint: "Choose another folder, or add --force to overwrite it.",
    });
  }
}
