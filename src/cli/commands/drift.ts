import { Option } from "commander";
import type { Diagnostic } from "../../model/diagnostic.ts";
import type { RefreshMode } from "../../model/observed.ts";
import { systemClock } from "../../model/ports.ts";
import type { RecordedOperation } from "../../model/recorded.ts";
import type { DriftReport } from "../../report/drift-report.ts";
import { formatDriftMarkdown, formatDriftText } from "../../report/drift-report.ts";
import { markdownChars } from "../../report/markdown.ts";
import type { Palette } from "../../report/palette.ts";
import { plural } from "../../report/quantities.ts";
import type { Cli, DefineCommand, WorkspaceFlags } from "../cli.ts";
import { concurrencyOption, examples, targetOption, withWorkspaceFlags } from "../cli.ts";
import { exitCode } from "../runtime/exit-code.ts";
import { assertCompared, compareWithService } from "../runtime/run-drift.ts";
import { inWorkspace } from "../runtime/workspace.ts";
import { checkFormatFlags, type FormatFlags, printFormat, withFormatFlags } from "../terminal/formats.ts";
import { formatJson } from "../terminal/print-json.ts";
import { printDiagnostics } from "../terminal/report-error.ts";
import { openReporter } from "../terminal/reporter.ts";

type FormatDrift = (
  report: DriftReport,
  options: { readonly maxChars?: number; readonly paint: Palette },
) => Promise<string>;

const formats = {
  text: async (report, { paint }) => formatDriftText(report, systemClock.now(), paint),
  json: async (report) => formatJson(report),
  markdown: async (report, { maxChars = markdownChars }) =>
    formatDriftMarkdown(report, { now: systemClock.now(), maxChars }),
  html: async (report) => {
    const { formatDriftPage } = await import("../../report/html/drift-page.ts");
    const { loadPageAssets } = await import("../terminal/page-assets.ts");
    return formatDriftPage(report, systemClock.now(), await loadPageAssets());
  },
} satisfies Record<string, FormatDrift>;

interface DriftFlags extends WorkspaceFlags, FormatFlags<keyof typeof formats> {
  readonly refresh: RefreshMode;
  readonly probe?: boolean;
  readonly target?: readonly string[];
}

/** `draftsync drift` */
export const defineDrift: DefineCommand = (program, cli) => {
  withFormatFlags(withWorkspaceFlags(program.command("drift")), Object.keys(formats))
    .summary("show changes made outside draftsync")
    .description(
      "Compares the service with the ledger. Changes nothing, at the service or in the ledger: it reads products " +
        "and uploads, and probes files with --probe or `refresh: { attachments: probe }` in the config. " +
        "Exits with 2 if something differs, with 4 if an operation is in doubt, and with 1 if nothing was checked or " +
        "something could not be read.",
    )
    .addOption(
      new Option("--refresh <mode>", "check up to refresh.max_calls, or everything")
        .choices(["budget", "full"])
        .default("budget"),
    )
    .option("--probe", "also check files, by an update without attributes (one call a file)")
    .addOption(targetOption())
    .addOption(concurrencyOption())
    .addHelpText(
      "after",
      examples(
        "draftsync drift --probe",
        "draftsync drift --refresh full --format markdown > drift.md",
        "draftsync drift --probe --format html > drift.html",
        "draftsync drift --format json | jq -r '.drift[].address'",
      ),
    )
    .action((flags: DriftFlags) => runDrift(cli, flags));
};

async function runDrift(cli: Cli, flags: DriftFlags): Promise<void> {
  checkFormatFlags(flags);
  await inWorkspace(cli, flags, async (workspace) => {
    const progress = await openReporter(workspace);
    const compared = await compareWithService(workspace, {
      targets: flags.target ?? [],
      refresh: flags.refresh,
      attachments: flags.probe ? "probe" : undefined,
      emit: progress.emit,
    }).finally(progress.stop);
    const { report, recorded, unreadable } = compared;
    if (unreadable.length > 0) printDiagnostics(cli.terminal, "", unreadable);
    const open = recorded.inDoubt.filter(({ kind }) => kind !== "upload");
    if (open.length > 0) {
      printDiagnostics(cli.terminal, "", [inDoubtWarning(open)]);
      cli.end(exitCode.inDoubt);
    }
    assertCompared(compared);
    const text = await formats[flags.format](report, { ...flags, paint: cli.terminal.paintOut });
    printFormat(cli, flags.format, text);
    if (report.drift.length > 0) cli.end(exitCode.changes);
    // What could not be read is not known to match.
    else if (open.length === 0 && report.refresh.unreadable > 0) cli.end(exitCode.error);
  });
}

/** The ledger does not know what the service should hold for these, so they are not compared. */
function inDoubtWarning(operations: readonly RecordedOperation[]): Diagnostic {
  const [first] = operations;
  const others = operations.length === 1 ? "" : ` and ${plural(operations.length - 1, "more operation")}`;
  return {
    severity: "warning",
    code: "in-doubt",
    message: `${first?.address}${others} in doubt: not compared with the service`,
    hint: "`draftsync plan` shows what is in doubt, and how each is settled.",
  };
}
