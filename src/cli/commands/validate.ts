import { plural } from "../../report/quantities.ts";
import type { Cli, DefineCommand, WorkspaceFlags } from "../cli.ts";
import { examples, withWorkspaceFlags } from "../cli.ts";
import { loadConfig } from "../config.ts";
import { loadDesired } from "../runtime/planning.ts";
import { printDiagnostics } from "../terminal/report-error.ts";

/** `draftsync validate` */
export const defineValidate: DefineCommand = (program, cli) => {
  withWorkspaceFlags(program.command("validate"))
    .summary("read and check the manifests")
    .description("Reads every manifest and reports all errors at once. Uses neither network nor ledger.")
    .addHelpText("after", examples("draftsync validate", "draftsync validate --config shop/draftsync.yaml"))
    .action((flags: WorkspaceFlags) => runValidate(cli, flags));
};

async function runValidate(cli: Cli, flags: WorkspaceFlags): Promise<void> {
  const { cwd, env, terminal } = cli;
  const config = await loadConfig({ cwd, env, flags });
  const { desired, diagnostics, files } = await loadDesired(cli, config, "stat");
  if (diagnostics.length > 0) {
    printDiagnostics(terminal, undefined, diagnostics);
    terminal.err("\n");
  }
  const attachments = desired.drafts.reduce((sum, draft) => sum + draft.attachments.length, 0);
  const counts = [
    plural(files.length, "manifest"),
    plural(desired.drafts.length, "draft"),
    plural(attachments, "attachment"),
    plural(desired.duplicates.length, "duplicate"),
  ];
  terminal.out(`${terminal.paintOut("added", "Valid:")} ${counts.join(", ")}.\n`);
}
