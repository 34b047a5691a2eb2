import { resolve } from "node:path";
import { newRunId } from "../../apply/context.ts";
import { formatAddress } from "../../model/address.ts";
import { attachmentsByAddress } from "../../model/desired.ts";
import { causeOf } from "../../model/outcome.ts";
import { ledgerClock, systemClock } from "../../model/ports.ts";
import type { Recorded } from "../../model/recorded.ts";
import { fileResource } from "../../model/resource.ts";
import { leftToSettle } from "../../model/unsettled.ts";
import { wait } from "../../model/wait.ts";
import { doubtsToSettle } from "../../plan/doubts.ts";
import { assertOwner } from "../../plan/ownership.ts";
import { makeFileIdFinder } from "../../plan/recorded-index.ts";
import { adoptionEffects } from "../../refresh/adopt.ts";
import { type FetchTargetsResult, fetchTargets } from "../../refresh/fetch-targets.ts";
import { formatAdoptions, viewAdoptions } from "../../report/adoption-text.ts";
import { formatSeconds } from "../../report/quantities.ts";
import type { Cli, WriterFlags } from "../cli.ts";
import { printJson } from "../terminal/print-json.ts";
import { openReporter } from "../terminal/reporter.ts";
import { CliError } from "./cli-error.ts";
import { exitCode } from "./exit-code.ts";
import { allTargets, type ImportEnvironment, type ImportTargets, namedTargets } from "./import-targets.ts";
import { readGiven } from "./input-files.ts";
import { warnOfCopies } from "./ledger-access.ts";
import { loadDesired } from "./manifests.ts";
import { inLockedWorkspace } from "./with-lock.ts";
import type { Workspace } from "./workspace.ts";
import {
  assertNotDeclared,
  assertWritable,
  importedDrafts,
  loadDeclared,
  manifestToWrite,
  withPublications,
  writeImported,
} from "./write-imported.ts";

/** Flags of `draftsync import`. */
export interface ImportFlags extends WriterFlags {
  readonly all?: boolean;
  readonly file?: string;
  readonly json?: boolean;
  readonly write?: string;
}

/** Adopts what the words, the file or `--all` name. */
export async function runImport(cli: Cli, words: readonly string[], flags: ImportFlags): Promise<void> {
  const named = flags.file === undefined ? words : [...words, ...(await readWords(cli, flags.file))];
  if (flags.all === true ? named.length > 0 : named.length === 0) {
    throw new CliError(
      flags.all ? "--all cannot be combined with addresses" : "no address to import was given",
      { code: "invalid-flag", hint: "Name addresses, a --file of them, or --all." },
    );
  }
  await inLockedWorkspace(cli, { flags, command: "import" }, (workspace) =>
    importLocked(workspace, named, flags),
  );
}

/** One address a line; empty lines and those that begin with `#` are left out. */
async function readWords(cli: Cli, file: string): Promise<string[]> {
  const bytes = await readGiven(resolve(cli.cwd, file), {
    what: "the list of addresses",
    code: "import-file-unreadable",
    hint: "Name a text file with one address a line.",
  });
  return bytes
    .toString("utf8")
    .replace(/^\ufeff/, "")
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"));
}

async function importLocked(
  workspace: Workspace,
  named: readonly string[],
  flags: ImportFlags,
): Promise<void> {
  const { cli, config, owner } = workspace;
  const { terminal } = cli;
  const { desired: declared, files } =
    flags.write === undefined ? await loadDesired(cli, config, "hash") : await loadDeclared(cli, config);
  const manifest =
    flags.write === undefined ? undefined : await manifestToWrite(cli, { config, files, file: flags.write });
  const desired = manifest === undefined ? declared : withPublications(declared, named);
  const ledger = await workspace.ledger();
  const recorded = await ledger.load();
  assertOwner(recorded, owner);
  const environment: ImportEnvironment = { desired, recorded, fileIdOf: makeFileIdFinder(recorded) };
  const targets = flags.all ? allTargets(environment) : namedTargets(named, environment);
  if (manifest !== undefined) {
    assertWritable(manifest, targets, declared);
    assertNotDeclared(targets, environment);
  }
  await waitForLostCalls(workspace, targets, recorded);
  const { observations, calls, stopped } = await fetchAll(workspace, targets);
  const effects = adoptionEffects({ ...environment, observations });
  const drafts = manifest === undefined ? [] : importedDrafts({ effects, recorded, declared }, manifest);
  const written = drafts.flatMap(({ attachments }) =>
    attachments.map(({ address }) => formatAddress(address)),
  );
  const view = viewAdoptions({
    targets,
    observations,
    declared: new Set([...attachmentsByAddress(desired).keys(), ...written]),
  });
  const done = view.adopted.length;
  const failed = view.absent.length + view.unreadable.length;
  const deferred = view.left.length;
  const record = async () => {
    const id = newRunId();
    if (done > 0) await ledger.bind(owner);
    await ledger.startRun({ id, command: "import", planId: "", startedAt: await ledger.now() });
    await ledger.record(effects, id);
    const totals = { done, failed, in_doubt: 0, skipped: view.skipped.length, deferred, calls };
    await ledger.finishRun(id, { totals, status: failed + deferred > 0 ? "failed" : "done" });
  };
  if (manifest === undefined || drafts.length === 0) await record();
  else await writeImported(cli, config, { file: manifest, drafts, record });
  if (flags.json) printJson(cli, { format_version: 1, calls, ...view });
  else terminal.out(formatAdoptions(view, calls, terminal.paintOut));
  if (drafts.length > 0 && !flags.json) terminal.err(`Wrote ${manifest}.\n`);
  warnOfCopies(cli, effects, { desired, recorded });
  if (stopped !== undefined) {
    const { code, hint } = stopped;
    throw new CliError(causeOf(stopped), { code, ...(hint === undefined ? {} : { hint }) });
  }
  if (cli.signal.aborted) cli.end(exitCode.interrupted);
  else if (failed > 0) cli.end(done > 0 ? exitCode.failed : exitCode.error);
}

/** A lost call about a file may still change it: what is read before that proves nothing. */
async function waitForLostCalls(
  { cli, config, ledger }: Workspace,
  { targets }: ImportTargets,
  recorded: Recorded,
): Promise<void> {
  const doubts = doubtsToSettle(recorded);
  const lost = targets.flatMap((each) =>
    each.type === "attachment" ? (doubts.get(fileResource(each.target)) ?? []) : [],
  );
  const ms = leftToSettle(lost, {
    now: await (await ledger()).now(),
    settleDelayMs: config.service.profile.settle_delay,
  });
  if (ms === 0) return;
  const left = formatSeconds(Math.ceil(ms / 1000));
  cli.terminal.err(`Waiting ${left} until what is in doubt can no longer take effect.\n`);
  await wait(ms, cli.signal);
}

async function fetchAll(workspace: Workspace, { targets }: ImportTargets): Promise<FetchTargetsResult> {
  const progress = await openReporter(workspace);
  try {
    const reader = await workspace.connect(progress.emit);
    const at = systemClock.now();
    progress.emit({ type: "refresh_started", format_version: 1, at, calls: targets.length });
    return await fetchTargets({
      targets,
      reader,
      maxCalls: Number.POSITIVE_INFINITY,
      concurrency: workspace.config.service.concurrency,
      clock: await ledgerClock(await workspace.ledger(), systemClock),
      signal: workspace.cli.signal,
    });
  } finally {
    progress.stop();
  }
}
