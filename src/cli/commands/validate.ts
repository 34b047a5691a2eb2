import { posix } from "node:path";
import type { LoadedManifests } from "../../manifest/load-manifests.ts";
import { hasErrors } from "../../model/diagnostic.ts";
import { nonEmpty } from "../../model/lists.ts";
import { resolveTargets } from "../../plan/target-names.ts";
import { plural } from "../../report/quantities.ts";
import { type Cli, type DefineCommand, examples, type WorkspaceFlags, withWorkspaceFlags } from "../cli.ts";
import { type Config, loadConfig } from "../config.ts";
import { CliError, DiagnosticsError } from "../runtime/cli-error.ts";
import { readManifests } from "../runtime/manifests.ts";
import { pathInWorkspace } from "../runtime/workspace.ts";
import { printDiagnostics } from "../terminal/report-error.ts";

interface ValidateFlags extends WorkspaceFlags {
  readonly print?: string;
}

/** `draftsync validate` */
export const defineValidate: DefineCommand = (program, cli) => {
  withWorkspaceFlags(program.command("validate"))
    .summary("read and check the manifests")
    .description("Reads every manifest and reports all errors at once. Uses neither network nor ledger.")
    .argument("[file...]", "report on these manifests and their defaults only; the others are read, too")
    .option("--print <draft>", "print a draft with its defaults and descriptions, by id, manifest or title")
    .addHelpText(
      "after",
      examples(
        "draftsync validate",
        "draftsync validate manifests/sea-serpent.yaml",
        "draftsync validate --print 48213",
        "draftsync validate --config shop/draftsync.yaml",
      ),
    )
    .action((files: readonly string[], flags: ValidateFlags) => runValidate(cli, files, flags));
};

async function runValidate(cli: Cli, named: readonly string[], flags: ValidateFlags): Promise<void> {
  const { cwd, env, terminal } = cli;
  const config = await loadConfig({ cwd, env, flags });
  const loaded = await readManifests(cli, config, "stat");
  if (flags.print !== undefined) return printDraft(cli, loaded, flags.print);
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

async function printDraft({ terminal }: Cli, loaded: LoadedManifests, name: string): Promise<void> {
  if (!loaded.ok) throw new DiagnosticsError(loaded.diagnostics);
  const { formatDraft } = await import("../../manifest/format-draft.ts");
  const targets = new Set(resolveTargets([name], loaded.desired, { titles: new Map() }));
  const drafts = loaded.desired.drafts.filter(({ draftId }) => targets.has(`drafts/${draftId}`));
  if (drafts.length === 0) {
    throw new CliError(`no draft of this workspace matches ${JSON.stringify(name)}`, {
      code: "target-unknown",
      hint: "Write a draft id, a manifest, or a title. Quote names with spaces or *.",
    });
  }
  terminal.out(drafts.map(formatDraft).join("---\n"));
}

/** The manifests of the arguments and of their defaults, relative to the workspace. Throws {@link CliError} `manifest-not-found`. */
function namedFiles(
  cli: Cli,
  config: Config,
  { named, loaded }: { readonly named: readonly string[]; readonly loaded: LoadedManifests },
): readonly string[] {
  const known = new Set(loaded.files);
  return named.flatMap((name) => {
    const file = pathInWorkspace(cli, config, name);
    if (known.has(file)) return [file, ...loaded.filesWithDefaults.filter((each) => isAbove(each, file))];
    throw new CliError(`${name} is not a manifest of this workspace`, {
      code: "manifest-not-found",
      hint: "Name a file that matches `manifests` in draftsync.yaml.",
    });
  });
}

/** Whether one manifest is in the same folder as the other, or in one above it. */
function isAbove(upper: string, file: string): boolean {
  const folder = posix.dirname(upper);
  return folder === "." || file.startsWith(`${folder}/`);
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
