import type { Cli, DefineCommand } from "./cli.ts";
import { examples } from "./cli.ts";
import { CliError } from "./cli-error.ts";
import type { InitAnswers } from "./init-answers.ts";

interface InitFlags {
  readonly workspace?: string;
  readonly baseUrl?: string;
  readonly draft?: string;
  readonly force?: boolean;
}

/** `draftsync init` */
export const defineInit: DefineCommand = (program, cli) => {
  program
    .command("init")
    .summary("write a config and a first manifest")
    .description(
      "Writes draftsync.yaml, a first manifest and its JSON Schema. On a terminal it asks for what is not given, and again when an answer will not do.",
    )
    .argument("[folder]", "where to", ".")
    .option("--workspace <name>", "name of the workspace (default: that of the folder)")
    .option("--base-url <url>", "address of the service, or `sandbox` (default: sandbox)")
    .option("--draft <id>", "id of the first draft (default: 1)")
    .option("--force", "write over files that are there")
    .addHelpText(
      "after",
      examples(
        "draftsync init",
        "draftsync init shop --workspace shop --base-url https://api.example.com --draft 48213",
      ),
    )
    .action((folder: string, flags: InitFlags) => runInit(cli, folder, flags));
};

async function runInit(cli: Cli, folder: string, flags: InitFlags): Promise<void> {
  const { mkdir, writeFile } = await import("node:fs/promises");
  const { basename, dirname, join, resolve } = await import("node:path");
  const { askForAnswers } = await import("./init-answers.ts");
  const { manifestJsonSchema } = await import("../manifest/json-schema.ts");
  const { messageOf, systemCodeOf } = await import("../model/errors.ts");
  const root = resolve(cli.cwd, folder);
  const given = { workspace: flags.workspace, service: flags.baseUrl, draft: flags.draft };
  const answers = await askForAnswers(cli, given, safeName(basename(root)));
  const files = {
    "draftsync.yaml": configText(answers),
    "manifests/first-draft.yaml": manifestText(answers),
    "manifests/manifest.schema.json": `${JSON.stringify(manifestJsonSchema(), null, 2)}\n`,
    ".gitignore": ".draftsync/\n",
  };
  await refuseOverwriting(root, Object.keys(files), flags);
  for (const [name, text] of Object.entries(files)) {
    const path = join(root, name);
    try {
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, text, { flag: flags.force ? "w" : "wx" });
    } catch (error) {
      if (name === ".gitignore" && systemCodeOf(error) === "EEXIST") continue;
      throw new CliError(`${path} cannot be written: ${messageOf(error)}`, {
        code: "not-written",
        hint: "Choose a folder that can be written to.",
        cause: error,
      });
    }
    cli.terminal.err(`wrote ${join(folder, name)}\n`);
  }
  const enter = folder === "." ? "" : `cd ${folder} && `;
  const key =
    answers.service === "sandbox" ? "" : "export DRAFTSYNC_API_KEY=…  # the access key of the service\n  ";
  cli.terminal.err(`\nNext:\n  ${key}${enter}draftsync plan\n`);
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
  const { access } = await import("node:fs/promises");
  const { join } = await import("node:path");
  if (force) return;
  for (const name of names) {
    if (name === ".gitignore") continue;
    const there = await access(join(root, name)).then(
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

function configText({ workspace, service }: InitAnswers): string {
  const where =
    service === "sandbox"
      ? "service: sandbox   # a service on this machine, kept beside the ledger; later: { base_url: https://… }\n"
      : `service:\n  base_url: ${JSON.stringify(service)}\n  rate: { limit: 10, window: 1s }   # at most this many calls in any window\n`;
  return `# The access key comes from DRAFTSYNC_API_KEY, never from this file.
version: 1
workspace: ${workspace}
manifests: ["manifests/**/*.yaml"]
${where}state: .draftsync/state.db
`;
}

function manifestText({ draft }: InitAnswers): string {
  return `# yaml-language-server: $schema=manifest.schema.json
draft: ${draft}
product_files:
  - file_id: 9900011        # a file that is uploaded already; or source: files/dragon.blend
    file_format: fbx
    format_version: "2020"  # versions are texts: quote them
    is_native: false
promotional_files:
  - file_id: 9900044
    description: |
      What a buyer should know, in as many lines as it takes.
# publish: true             # publishes a product from the draft; it cannot be undone
`;
}
