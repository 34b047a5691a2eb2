import { resolve } from "node:path";
import type { Command } from "commander";
import { Option } from "commander";
import type { KeptOutcome, Preference, TakenIn } from "../../model/recovery.ts";
import { sanitizeLine } from "../../report/sanitize-text.ts";
import type { Cli, WriterFlags } from "../cli.ts";
import { examples, withWriterFlags } from "../cli.ts";
import type { Config } from "../config.ts";
import { CliError } from "../runtime/cli-error.ts";
import { exitCode } from "../runtime/exit-code.ts";
import { readGiven } from "../runtime/read-input-file.ts";
import { withLock } from "../runtime/with-lock.ts";
import type { Workspace } from "../runtime/workspace.ts";
import { inWorkspace } from "../runtime/workspace.ts";
import { printJson } from "../terminal/print-json.ts";

interface RecoverFlags extends WriterFlags {
  readonly json?: boolean;
  readonly prefer?: Preference;
  readonly otherLedger?: boolean;
}

/** `draftsync state recover` */
export function defineRecover(state: Command, cli: Cli): void {
  withWriterFlags(state.command("recover"))
    .summary("replay outcomes saved in the recovery file")
    .description(
      "If the ledger fails after a call was sent, the outcome is saved in a recovery file, and nothing is planned or " +
        "written until it is replayed. The file is removed after the ledger has recorded its outcomes.",
    )
    .argument(
      "[file]",
      "only this recovery file, or a file with the JSON lines that a command printed; - for standard input",
    )
    .addOption(
      new Option("--prefer <which>", "which one to keep if they contradict each other").choices([
        "ledger",
        "outcome",
      ]),
    )
    .option("--other-ledger", "replay outcomes of another ledger, which is permanently lost")
    .option("--json", "as JSON")
    .addHelpText("after", examples("draftsync state recover", "draftsync state recover saved-lines.json"))
    .action((file: string | undefined, flags: RecoverFlags) => runRecover(cli, file, flags));
}

/** A recovery file, or what was given in its place; `path` is what is removed in the end. */
interface Source {
  readonly path?: string;
  readonly outcomes: readonly KeptOutcome[];
}

interface Taken {
  readonly kept: KeptOutcome;
  readonly end: TakenIn;
}

async function runRecover(cli: Cli, file: string | undefined, flags: RecoverFlags): Promise<void> {
  await inWorkspace(cli, flags, async (workspace) => {
    const sources = await readSources(cli, workspace.config, file);
    for (const { outcomes } of sources) for (const kept of outcomes) refuseAnother(kept, workspace.config);
    const lock = {
      workspace,
      command: "state recover",
      recovers: true,
      takeOver: sources.flatMap(({ outcomes }) => outcomes.flatMap(({ lockId = [] }) => lockId)),
      waitMs: flags.lockTimeout,
    };
    const taken =
      sources.length === 0 ? [] : await withLock(cli, lock, () => takeInAll(workspace, sources, flags));
    await show(cli, taken, flags);
    if (taken.some(({ end }) => end.type === "conflict")) cli.end(exitCode.inDoubt);
  });
}

async function readSources(cli: Cli, config: Config, file: string | undefined): Promise<readonly Source[]> {
  const { parseKeptOutcomes } = await import("../../ledger/kept-outcome.ts");
  const { readRecoveryFile } = await import("../../ledger/recovery-files.ts");
  const { recoveryFilesOf } = await import("../runtime/recovery.ts");
  const waiting = recoveryFilesOf(config).list();
  if (file === undefined) return waiting.map((path) => ({ path, outcomes: readRecoveryFile(path) }));
  const path = resolve(cli.cwd, file);
  if (waiting.includes(path)) return [{ path, outcomes: readRecoveryFile(path) }];
  const text = file === "-" ? await cli.terminal.readAll() : await readLines(path, file);
  return [{ outcomes: parseKeptOutcomes(text, file === "-" ? "standard input" : file) }];
}

async function readLines(path: string, file: string): Promise<string> {
  const bytes = await readGiven(path, {
    what: file,
    code: "recovery-unreadable",
    hint: "Name a file with the JSON lines that the failed command printed, or no file to replay all recovery files.",
  });
  return bytes.toString("utf8");
}

function refuseAnother({ owner, operation }: KeptOutcome, { service, workspace }: Config): void {
  if (owner.origin === service.origin && owner.workspace === workspace) return;
  throw new CliError(
    `the outcome of ${operation.address} belongs to workspace ${owner.workspace} at ${owner.origin}, not to ${workspace} at ${service.origin}; nothing was changed`,
    {
      code: "recovery-of-another",
      hint: "Use the config (and the --base-url, if any) of the command that failed.",
    },
  );
}

/** Each file is removed after its commit: whoever is stopped in between finds it known the next time. */
async function takeInAll(
  workspace: Workspace,
  sources: readonly Source[],
  { prefer, otherLedger = false }: RecoverFlags,
): Promise<readonly Taken[]> {
  const { removeRecoveryFile } = await import("../../ledger/recovery-files.ts");
  const ledger = await workspace.ledger();
  const lineage = await ledger.lineage();
  if (!otherLedger) for (const { outcomes } of sources) refuseOtherLineage(outcomes, lineage);
  const { service, workspace: name } = workspace.config;
  const owner = { origin: service.origin, workspace: name };
  await ledger.assertOwner(owner);
  const isAccepted = ({ result }: KeptOutcome) => result.outcome === "done";
  if (sources.some(({ outcomes }) => outcomes.some(isAccepted))) await ledger.bind(owner);
  const taken: Taken[] = [];
  for (const { path, outcomes } of [...sources].sort(byTime)) {
    const ends: Taken[] = [];
    for (const kept of outcomes) ends.push({ kept, end: await ledger.takeIn(kept, prefer) });
    if (path !== undefined && ends.every(({ end }) => end.type !== "conflict")) removeRecoveryFile(path);
    taken.push(...ends);
  }
  return taken;
}

function byTime(one: Source, other: Source): number {
  return (one.outcomes[0]?.keptAt ?? 0) - (other.outcomes[0]?.keptAt ?? 0);
}

function refuseOtherLineage(outcomes: readonly KeptOutcome[], lineage: string): void {
  const other = outcomes.find((kept) => kept.lineage !== lineage);
  if (other === undefined) return;
  throw new CliError(
    `the outcome of ${other.operation.address} belongs to the ledger ${other.lineage}; this one is ${lineage}; nothing was changed`,
    {
      code: "recovery-of-another-ledger",
      hint: "Restore that ledger first, from a backup or with `draftsync state import`. If it is permanently lost, add --other-ledger.",
    },
  );
}

async function show(cli: Cli, taken: readonly Taken[], { json }: RecoverFlags): Promise<void> {
  const { terminal } = cli;
  if (json) {
    const shown = taken.map(({ kept, end }) => ({
      address: kept.operation.address,
      operation: kept.operation.id,
      outcome: kept.result.outcome,
      ...(kept.productId === undefined ? {} : { product_id: kept.productId }),
      taken_in: end.type,
      ...(end.type === "conflict" ? { ledger: end.ledger } : {}),
    }));
    return printJson(cli, { format_version: 1, outcomes: shown });
  }
  for (const each of taken) terminal.out(`${sanitizeLine(describe(each))}\n`);
  if (taken.length === 0) terminal.err("There are no outcomes to replay.\n");
  if (taken.some(({ end }) => end.type === "conflict")) {
    const text =
      "\nOutcomes that contradict the ledger were not recorded. Check the service, then choose which is right: " +
      "`draftsync state recover --prefer ledger` or `--prefer outcome`.\n";
    terminal.log({ level: "warning", text, code: "outcome-contradicts-ledger" });
  }
}

function describe({ kept, end }: Taken): string {
  const { operation, result, productId } = kept;
  const product = productId === undefined ? "" : `, product ${productId}`;
  const what = `${operation.address}  ${operation.kind} ${result.outcome}${product}`;
  switch (end.type) {
    case "recorded":
      return `${what}: recorded`;
    case "known":
      return `${what}: already recorded`;
    case "noted":
      return `${what}: dropped, because the ledger was preferred`;
    case "conflict":
      return `${what}: contradicts the ledger: ${end.ledger}`;
  }
}
