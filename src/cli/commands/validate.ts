import { relative, resolve, sep } from "node:path";
import type { LoadedManifests } from "../../manifest/load-manifests.ts";
import { hasErrors } from "../../model/diagnostic.ts";
import { nonEmpty } from "../../model/non-empty.ts";
import { plural } from "../../report/quantities.ts";
import type { Cli, DefineCommand, WorkspaceFlags } from "../cli.ts";
import { examples, withWorkspaceFlags } from "../cli.ts";
import { type Config, loadConfig } from "../config.ts";
import { CliError, DiagnosticsError } from "../runtime/cli-error.ts";
import { readManifests } from "../runtime/planning.ts";
import { printDiagnostics } from "../terminal/report-error.ts";

/** `draftsync validate` */
export const defineValidate: DefineCommand = (program, cli) => {
  withWorkspaceFlags(program.command("validate"))
    .summary("read and check the manifests")
    .description("Reads every manifest and reports all errors at once. Uses neither network nor ledger.")
    .argument("[file...]", "report on these manifests only; the others are read too, for what they share")
    .addHelpText(
      "after",
      examples(
        "draftsync validate",
        "draftsync validate manifests/sea-serpent.yaml",
        "draftsync validate --config shop/draftsync.yaml",
      ),
    )
    .action((files: readonly string[], flags: WorkspaceFlags) => runValidate(cli, files, flags));
};

async function runValidate(cli: Cli, named: readonly string[], flags: WorkspaceFlags): Promise<void> {
  const { cwd, env, terminal } = cli;
  const config = await loadConfig({ cwd, env, flags });
  const loaded = await readManifests(cli, config, "stat");
  const shown = named.length === 0 ? loaded.files : namedFiles(cli, config, { named, loaded });
  const isShown = new Set(shown);
  const diagnostics =
    named.length === 0
      ? loaded.diagnostics
      : loaded.diagnostics.filter(({ place }) => place !== undefined && isShown.has(place.file));
  const found = hasErrors(diagnostics) ? nonEmpty(diagnostics) : undefined;
  if (found !== undefined) throw new DiagnosticsError(found);
  if (diagnostics.length > 0) {
    printDiagnostics(terminal, undefined, diagnostics);
    terminal.err("\n");
  }
  terminal.out(`${terminal.paintOut("added", "Valid:")} ${countsOf(loaded, isShown).join(", ")}.\n`);
  if (!loaded.ok) terminal.err("note: other manifests have errors: draftsync validate\n");
}

/** The manifests of the arguments, relative to the workspace. Throws {@link CliError} `manifest-not-found`. */
function namedFiles(
  { cwd }: Cli,
  { root }: Config,
  { named, loaded }: { readonly named: readonly string[]; readonly loaded: LoadedManifests },
): readonly string[] {
  const known = new Set(loaded.files);
  return named.map((name) => {
    const file = relative(root, resolve(cwd, name)).replaceAll(sep, "/");
    if (known.has(file)) return file;
    throw new CliError(`${name} is not a manifest of this workspace`, {
      code: "manifest-not-found",
      hint: "Name a file that matches `manifests` in draftsync.yaml.",
    });
  });
}

function countsOf(loaded: LoadedManifests, files: ReadonlySet<string>): readonly string[] {
  const manifests = plural(files.size, "manifest");
  if (!loaded.ok) return [manifests];
  const drafts = loaded.desired.drafts.filter(({ file }) => files.has(file));
  const duplicates = loaded.desired.duplicates.filter(({ file }) => files.has(file));
  const attachments = drafts.reduce((sum, draft) => sum + draft.attachments.length, 0);
  return [
    manifests,
    plural(drafts.length, "draft"),
    plural(attachments, "attachment"),
    plural(duplicates.length, "duplicate"),
  ];
}
