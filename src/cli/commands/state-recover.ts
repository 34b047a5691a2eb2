import { resolve } from "node:path";
import { type Command, Option } from "commander";
import { LedgerError } from "../../ledger/ledger-error.ts";
import type { LedgerReader } from "../../ledger/ledger-reader.ts";
import { RecoveryLog, type SavedOutcomes } from "../../ledger/recovery-log.ts";
import { parseRecoveryRecords } from "../../ledger/recovery-records.ts";
import { noLineage } from "../../model/recorded.ts";
import type { ConflictChoice, LedgerOwner, RecoveryRecord, ReplayResult } from "../../model/recovery.ts";
import { conflictChoices } from "../../model/recovery.ts";
import { sanitizeLine } from "../../report/sanitize-text.ts";
import { type Cli, examples, type WriterFlags, withFormat, withWriterFlags } from "../cli.ts";
import { CliError } from "../runtime/cli-error.ts";
import { exitCode } from "../runtime/exit-code.ts";
import { readGiven } from "../runtime/input-files.ts";
import { withLock } from "../runtime/with-lock.ts";
import { inWorkspace, type Workspace } from "../runtime/workspace.ts";
import { printJson } from "../terminal/print-json.ts";

interface RecoverFlags extends WriterFlags {
  readonly json?: boolean;
  readonly onConflict?: ConflictChoice;
  readonly ignoreLineage?: boolean;
}

/** `draftsync state recover` */
export function defineRecover(state: Command, cli: Cli): void {
  withFormat(withWriterFlags(state.command("recover")))
    .summary("replay outcomes saved in the recovery log")
    .description(
      "Replays outcomes from the recovery log into the ledger, then removes the log. draftsync saves an outcome there if " +
        "the ledger fails after a call was sent, and plans and writes nothing until it is replayed.",
    )
    .argument(
      "[file]",
      "file with JSON lines that a command printed, or - for standard input (default: the log)",
    )
    .addOption(
      new Option("--on-conflict <choice>", "outcome to keep if the two contradict each other").choices(
        conflictChoices,
      ),
    )
    .option(
      "--ignore-lineage",
      "replay outcomes that a different ledger, now permanently lost, was to record",
    )
    .addHelpText("after", examples("draftsync state recover", "draftsync state recover saved-lines.ndjson"))
    .action((file: string | undefined, flags: RecoverFlags) => runRecover(cli, file, flags));
}

interface Replayed {
  readonly record: RecoveryRecord;
  readonly result: ReplayResult;
}

async function runRecover(cli: Cli, file: string | undefined, flags: RecoverFlags): Promise<void> {
  await inWorkspace(cli, flags, async (workspace) => {
    const log = new RecoveryLog(workspace.config);
    const given = file === undefined ? undefined : [await readFile(cli, file)];
    // Chosen again under the lock: another process may have replayed a log by then.
    const choose = () => chooseOwned(given ?? log.read(), workspace, flags);
    const found = recordsOf(await choose());
    const lock = {
      command: "state recover",
      recovers: true,
      takeOver: {
        lockIds: found.flatMap(({ lockId = [] }) => lockId),
        operationIds: found.map(({ operation }) => operation.id),
      },
      waitMs: flags.lockTimeout,
    };
    const replay = async () => {
      const chosen = await choose();
      if (given === undefined) return replayLogs(chosen, log, workspace, flags);
      const replayed = await replayAll(recordsOf(chosen), workspace, flags);
      // Nothing is sent until a person has decided what contradicts the ledger.
      for (const { record, result } of replayed) if (result.type === "conflict") log.append(record);
      return replayed;
    };
    const replayed = found.length === 0 ? [] : await withLock(workspace, lock, replay);
    show(cli, replayed, flags);
    if (replayed.some(({ result }) => result.type === "conflict")) cli.end(exitCode.inDoubt);
  });
}

function recordsOf(logs: readonly SavedOutcomes[]): readonly RecoveryRecord[] {
  return logs.flatMap(({ records }) => records);
}

async function readFile(cli: Cli, file: string): Promise<SavedOutcomes> {
  const path = file === "-" ? "standard input" : file;
  if (file === "-") return { path, records: parseRecoveryRecords(await cli.terminal.readAll(), path) };
  const bytes = await readGiven(resolve(cli.cwd, file), {
    what: file,
    code: "recovery-unreadable",
    hint: "Name a file with the JSON lines that the failed command printed, or no file to replay the recovery log.",
  });
  return { path, records: parseRecoveryRecords(bytes.toString("utf8"), path) };
}

/**
 * The logs of this ledger, or else with `--ignore-lineage` the first one of this workspace at this service: that which is named
 * without it. A record of the service's earlier address belongs to the ledger when that was moved to the new one
 * (`state rebind`). Throws {@link CliError} when all are of others.
 */
async function chooseOwned(
  logs: readonly SavedOutcomes[],
  workspace: Workspace,
  { ignoreLineage = false }: RecoverFlags,
): Promise<readonly SavedOutcomes[]> {
  const [first] = logs;
  if (first === undefined) return [];
  const { owner } = workspace;
  const ledger = await existingLedger(workspace);
  const lineage = await ledger.lineage();
  const { serviceOrigin } = await ledger.owner();
  const isOwned = (record: RecoveryRecord) =>
    record.owner.workspace === owner.workspace &&
    (record.owner.origin === owner.origin || (serviceOrigin !== undefined && record.lineage === lineage));
  const owned = logs.filter(({ records }) => records.every(isOwned));
  const own = owned.filter(({ records }) => records.every((record) => record.lineage === lineage));
  if (own.length > 0) return own;
  const [other] = owned;
  if (other === undefined) throw ofAnother(first, owner);
  if (ignoreLineage) return [other];
  throw ofAnotherLedger(other, lineage);
}

/** Makes no ledger, but upgrades one of an older version: no other command would before its outcomes are replayed. */
async function existingLedger({ reader, ledger }: Workspace): Promise<LedgerReader> {
  try {
    return await reader();
  } catch (error) {
    if (error instanceof LedgerError && error.code === "ledger-too-old") return ledger();
    throw error;
  }
}

function ofAnother({ path, records }: SavedOutcomes, { workspace, origin }: LedgerOwner): CliError {
  const names = new Set(records.map(({ owner }) => `${owner.workspace} at ${owner.origin}`));
  return new CliError(
    `the outcomes in ${path} belong to workspace ${[...names].join(", ")}, not to ${workspace} at ${origin}; nothing was changed`,
    {
      code: "recovery-of-another",
      hint: "Use the config (and the --base-url, if any) of the command that failed. If that ledger is gone for good, move the file away.",
    },
  );
}

function ofAnotherLedger({ path, records }: SavedOutcomes, lineage: string): CliError {
  const names = new Set(records.map((record) => record.lineage));
  return new CliError(
    `the outcomes in ${path} belong to the ledger ${[...names].join(", ")}; this one is ${lineage === noLineage ? "new" : lineage}; nothing was changed`,
    {
      code: "recovery-of-another-ledger",
      hint: "If that ledger is in use, run the command with its --state. Otherwise restore it first, from a backup or with `draftsync state import`. If it is permanently lost, add --ignore-lineage.",
    },
  );
}

/** Returns to the log what conflicts or was not replayed. A replay that is killed starts again: it changes nothing twice. */
async function replayLogs(
  logs: readonly SavedOutcomes[],
  log: RecoveryLog,
  workspace: Workspace,
  flags: RecoverFlags,
): Promise<readonly Replayed[]> {
  const paths = logs.map(({ path }) => path);
  const claimed = log.claim(paths);
  // Another machine may have added an outcome of its ledger since the logs were chosen.
  const lineages = new Set(recordsOf(logs).map(({ lineage }) => lineage));
  const records = claimed.filter(({ lineage }) => lineages.has(lineage));
  const replayed: Replayed[] = [];
  try {
    await replayAll(records, workspace, flags, replayed);
  } finally {
    const settled = new Set(
      replayed.flatMap(({ record, result }) => (result.type === "conflict" ? [] : record)),
    );
    const remaining = claimed.filter((record) => !settled.has(record));
    log.settle(paths, remaining);
  }
  return replayed;
}

async function replayAll(
  records: readonly RecoveryRecord[],
  workspace: Workspace,
  { onConflict }: RecoverFlags,
  replayed: Replayed[] = [],
): Promise<readonly Replayed[]> {
  const { cli, owner } = workspace;
  const ledger = await workspace.ledger();
  await ledger.assertOwner(owner);
  const { isConfirmed } = await ledger.load();
  if (records.some(({ result }) => result.outcome === "done")) await ledger.bind(owner);
  for (const record of [...records].sort((one, other) => one.savedAt - other.savedAt)) {
    replayed.push({ record, result: await ledger.replay(record, onConflict) });
  }
  if (isConfirmed && !(await ledger.load()).isConfirmed) warnOfRestored(cli);
  return replayed;
}

function show(cli: Cli, replayed: readonly Replayed[], { json }: RecoverFlags): void {
  const { terminal } = cli;
  if (json) {
    const shown = replayed.map(({ record, result }) => ({
      address: record.operation.address,
      operation: record.operation.id,
      outcome: record.result.outcome,
      ...(record.productId === undefined ? {} : { product_id: record.productId }),
      replay: result.type,
      ...(result.otherProduct === undefined ? {} : { other_product_id: result.otherProduct }),
      ...(result.type === "conflict" ? { ledger: result.ledger } : {}),
    }));
    printJson(cli, { format_version: 1, outcomes: shown });
    return;
  }
  for (const each of replayed) terminal.out(`${sanitizeLine(describe(each))}\n`);
  if (replayed.length === 0) terminal.err("There are no outcomes to replay.\n");
  if (replayed.some(({ result }) => result.type === "conflict")) {
    const text =
      "\nOutcomes that contradict the ledger were not recorded. Check the service, then choose which is right: " +
      "`draftsync state recover --on-conflict keep-ledger` or `--on-conflict use-recovered`.\n";
    terminal.log({ level: "warning", text, code: "outcome-contradicts-ledger" });
  }
}

function warnOfRestored({ terminal }: Cli): void {
  terminal.log({
    level: "warning",
    text:
      `${terminal.paintErr("warning", "warning:")} the ledger lacks what the run of a replayed outcome had recorded: it was restored from an older backup, and counts as new. ` +
      "Publishes and duplicates are left out until you confirm that it has all that were made (`draftsync apply --new-ledger`)\n",
    code: "new-ledger",
  });
}

function describe({ record, result }: Replayed): string {
  const { operation, productId } = record;
  const product = productId === undefined ? "" : `, product ${productId}`;
  const what = `${operation.address}  ${operation.kind} ${record.result.outcome}${product}`;
  switch (result.type) {
    case "recorded":
      return `${what}: recorded${beside(result.otherProduct, "which the ledger had for it")}`;
    case "in_doubt":
      return `${what}: recorded in doubt, because the ledger may know something newer of the file; apply settles it`;
    case "known":
      return `${what}: already recorded`;
    case "noted":
      return `${what}: dropped, because the ledger was kept${beside(result.otherProduct, "which it has for it")}`;
    case "conflict":
      return `${what}: contradicts the ledger: ${result.ledger}`;
  }
}

/** Both products were made; the ledger has one of them from now on. */
function beside(product: number | undefined, which: string): string {
  return product === undefined
    ? ""
    : `; product ${product}, ${which}, exists as well: remove one of them at the service`;
}
