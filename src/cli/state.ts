import { inertJson } from "../model/inert-json.ts";
import type { Recorded } from "../model/recorded.ts";
import type { StateEntry } from "../report/state-view.ts";
import type { Cli, DefineCommand, WorkspaceFlags } from "./cli.ts";
import { examples, withWorkspaceFlags } from "./cli.ts";
import { CliError } from "./cli-error.ts";

interface StateFlags extends WorkspaceFlags {
  readonly json?: boolean;
}

/** `draftsync state list|show|export` */
export const defineState: DefineCommand = (program, cli) => {
  const state = program
    .command("state")
    .summary("look into the ledger")
    .description("The ledger holds what draftsync did and was told. It is not what the service holds now.");
  withWorkspaceFlags(state.command("list"))
    .summary("list everything that is recorded")
    .argument("[prefix]", "only addresses that begin with this")
    .option("--json", "as JSON")
    .addHelpText("after", examples("draftsync state list", "draftsync state list drafts/48213 --json"))
    .action((prefix: string | undefined, flags: StateFlags) => runList(cli, prefix ?? "", flags));
  withWorkspaceFlags(state.command("show"))
    .summary("show what is recorded of an address")
    .argument("<address>", "as `state list` and plans show it")
    .option("--json", "as JSON")
    .addHelpText("after", examples("draftsync state show drafts/48213/product_files/9900011"))
    .action((address: string, flags: StateFlags) => runShow(cli, address, flags));
  withWorkspaceFlags(state.command("export"))
    .summary("write the whole ledger as JSON")
    .addHelpText("after", examples("draftsync state export > ledger-backup.json"))
    .action((flags: StateFlags) => runExport(cli, flags));
};

async function loadEntries(
  cli: Cli,
  flags: StateFlags,
): Promise<{ entries: readonly StateEntry[]; recorded: Recorded }> {
  const { inWorkspace } = await import("./workspace.ts");
  const { listEntries } = await import("../report/state-view.ts");
  return inWorkspace(cli, flags, async (workspace) => {
    const recorded = await (await workspace.ledger()).load();
    return { entries: listEntries(recorded), recorded };
  });
}

async function runList(cli: Cli, prefix: string, flags: StateFlags): Promise<void> {
  const { entries } = await loadEntries(cli, flags);
  const shown = entries.filter(({ address }) => address.startsWith(prefix));
  if (flags.json) return cli.terminal.out(`${inertJson({ format_version: 1, entries: shown }, 2)}\n`);
  const { formatEntryList } = await import("../report/state-text.ts");
  cli.terminal.out(formatEntryList(shown, cli.terminal.paintOut));
  if (shown.length === 0) cli.terminal.err("Nothing is recorded.\n");
}

async function runShow(cli: Cli, address: string, flags: StateFlags): Promise<void> {
  const { entries } = await loadEntries(cli, flags);
  const shown = entries.filter((entry) => entry.address === address);
  if (shown.length === 0) {
    throw new CliError(`nothing is recorded at ${address}`, {
      code: "address-unknown",
      hint: "`draftsync state list` shows every address.",
    });
  }
  if (flags.json) return cli.terminal.out(`${inertJson({ format_version: 1, entries: shown }, 2)}\n`);
  const { formatEntry } = await import("../report/state-text.ts");
  cli.terminal.out(`${shown.map((entry) => formatEntry(entry, cli.terminal.paintOut)).join("\n\n")}\n`);
}

async function runExport(cli: Cli, flags: StateFlags): Promise<void> {
  const { inWorkspace } = await import("./workspace.ts");
  await inWorkspace(cli, flags, async (workspace) => {
    const exported = await (await workspace.ledger()).export();
    cli.terminal.out(`${inertJson(exported, 2)}\n`);
  });
}
