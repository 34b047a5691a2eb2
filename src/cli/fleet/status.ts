import { formatFleet, formatWorkspace } from "../../fleet/fleet-text.ts";
import { type FleetView, viewFleet, viewRun, viewWorkspace } from "../../fleet/fleet-view.ts";
import { isoTime } from "../../model/time.ts";
import { wait } from "../../model/wait.ts";
import type { Cli } from "../cli.ts";
import type { StatusFlags } from "../commands/fleet.ts";
import { CliError } from "../runtime/cli-error.ts";
import { loadPageAssets } from "../terminal/page-assets.ts";
import { printJson } from "../terminal/print-json.ts";
import { inFleet, type OpenFleet, pick } from "./open-fleet.ts";

/** Runs that the status of one workspace shows. */
const shownRuns = 10;

/** `draftsync fleet status` */
export async function showStatus(cli: Cli, name: string | undefined, flags: StatusFlags): Promise<void> {
  const { terminal, signal } = cli;
  if (flags.watch && (terminal.columns === undefined || flags.json || flags.html)) {
    throw new CliError("--watch needs a terminal and the format text", {
      code: "invalid-flag",
      hint: "Leave --watch out, or poll `draftsync fleet status --json`.",
    });
  }
  await inFleet(cli, { file: flags.fleet }, async (fleet) => {
    do {
      // Clears the screen, and what scrolled off it.
      if (flags.watch) terminal.out("\x1b[2J\x1b[3J\x1b[H");
      await (name === undefined ? showAll(cli, fleet, flags) : showOne(cli, fleet, { name, flags }));
    } while (flags.watch && (await wait(2_000, signal)));
  });
}

async function showAll(cli: Cli, { store }: OpenFleet, flags: StatusFlags): Promise<void> {
  const view = viewFleet(await store.list(), await store.lastRuns());
  const shown = filtered(view, flags);
  if (flags.json) return printJson(cli, { format_version: 1, ...view, workspaces: shown });
  if (flags.html) {
    const { formatFleetPage } = await import("../../fleet/fleet-page.ts");
    const page = formatFleetPage({ ...view, workspaces: shown }, await loadPageAssets());
    return cli.terminal.out(page);
  }
  cli.terminal.show(formatFleet(view, shown, cli.terminal.paintOut));
}

function filtered({ workspaces }: FleetView, { behind, failing, inDoubt }: StatusFlags) {
  const wanted = [
    ...(behind ? ["behind"] : []),
    ...(failing ? ["failing"] : []),
    ...(inDoubt ? ["in_doubt"] : []),
  ];
  return wanted.length === 0 ? workspaces : workspaces.filter(({ status }) => wanted.includes(status));
}

async function showOne(
  cli: Cli,
  { store }: OpenFleet,
  { name, flags }: { readonly name: string; readonly flags: StatusFlags },
): Promise<void> {
  const { now, workspaces } = await store.list();
  const [found] = pick([name], workspaces);
  if (found === undefined) throw new Error("each name has its workspace");
  const stored = await store.runs(name, shownRuns);
  const runs = stored.map(viewRun);
  const view = viewWorkspace(found, { now, run: stored[0] });
  if (flags.json) return printJson(cli, { format_version: 1, at: isoTime(now), ...view, runs });
  if (flags.html) {
    throw new CliError("the page of a fleet has all workspaces", {
      code: "invalid-flag",
      hint: `Leave the name out, or use \`draftsync history --html\` for the runs of ${name}.`,
    });
  }
  cli.terminal.show(formatWorkspace(view, { runs, now, paint: cli.terminal.paintOut }));
}
