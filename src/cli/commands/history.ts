import { Option } from "commander";
import { systemClock } from "../../model/ports.ts";
import { parseDuration } from "../../model/time.ts";
import type { HistoryFilter } from "../../report/history-view.ts";
import {
  type Cli,
  type DefineCommand,
  examples,
  parseIntegerFlag,
  type WorkspaceFlags,
  withFormat,
  withWorkspaceFlags,
} from "../cli.ts";
import { CliError } from "../runtime/cli-error.ts";
import { readLedger, readScopes } from "../runtime/ledger-access.ts";
import { printJson } from "../terminal/print-json.ts";

interface HistoryFlags extends WorkspaceFlags {
  readonly run?: string;
  readonly since?: number;
  readonly outcome?: string;
  readonly limit: number;
  readonly json?: boolean;
  readonly html?: boolean;
}

/** `draftsync history` */
export const defineHistory: DefineCommand = (program, cli) => {
  withFormat(withWorkspaceFlags(program.command("history")), {
    formats: ["text", "json", "html"],
    about: "output format; html with --run shows the details of that run",
  })
    .summary("list past runs and their API calls")
    .description("Shows the runs in the ledger with their writing calls, oldest first.")
    .argument("[address]", "only operations on this address and below it; also the id or title of a draft")
    .option("--run <id>", "only this run; the start of its id is enough")
    .option("--since <time>", "only runs since this time: 7d (ago), or 2026-11-21T18:30:00Z", (text) =>
      parseSince(text, systemClock.now()),
    )
    .addOption(
      new Option("--outcome <outcome>", "only operations with this outcome").choices([
        "done",
        "rejected",
        "not_sent",
        "unknown",
      ]),
    )
    .option("--limit <n>", "number of runs to show, the latest ones", parseIntegerFlag("--limit", "50"), 20)
    .addHelpText(
      "after",
      examples(
        "draftsync history",
        "draftsync history drafts/48213 --since 7d",
        "draftsync history --run 4f1c --html > run.html",
        "draftsync history --outcome rejected --json | jq .runs",
      ),
    )
    .action((address: string | undefined, flags: HistoryFlags) => runHistory(cli, address, flags));
};

async function runHistory(cli: Cli, address: string | undefined, flags: HistoryFlags): Promise<void> {
  const { viewHistory } = await import("../../report/history-view.ts");
  const { run, since, outcome, limit } = flags;
  const { runs, config } = await readLedger(cli, flags, async (ledger, config) => {
    const recorded = await ledger.names();
    const filter: HistoryFilter = {
      limit,
      ...(address === undefined ? {} : { scopes: readScopes(address, recorded) }),
      ...(run === undefined ? {} : { run }),
      ...(since === undefined ? {} : { since }),
      ...(outcome === undefined ? {} : { outcome }),
    };
    const stored = { runs: await ledger.runs(), operations: await ledger.operations(), recorded };
    return { runs: viewHistory(stored, filter), config };
  });
  if (flags.json) return printJson(cli, { format_version: 1, runs });
  if (flags.html) {
    const { formatHistoryPage } = await import("../../report/html/history-page.ts");
    const { loadPageAssets } = await import("../terminal/page-assets.ts");
    const input = { workspace: config.workspace, runs, bound: config.service.rate, now: systemClock.now() };
    return cli.terminal.out(formatHistoryPage(input, await loadPageAssets()));
  }
  const { formatHistory } = await import("../../report/history-text.ts");
  cli.terminal.show(formatHistory(runs, cli.terminal.paintOut));
  if (runs.length > 0) return;
  const isNarrow = [flags.run, flags.since, flags.outcome, address].some((each) => each !== undefined);
  cli.terminal.err(isNarrow ? "No matching runs.\n" : "No runs yet.\n");
}

function parseSince(text: string, now: number): number {
  const ago = parseDuration(text);
  if (ago !== undefined) return now - ago;
  const at = /^\d{4}-\d{2}-\d{2}(T.*)?$/.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(at)) return at;
  throw new CliError(`--since must be a duration or a time, not "${text}"`, {
    code: "invalid-flag",
    hint: "Use --since 7d, --since 2026-11-21, or --since 2026-11-21T18:30:00Z.",
  });
}
