import { LedgerError, LockHeldError } from "../../ledger/ledger-error.ts";
import { openLedger, openLedgerReader, type StateStore } from "../../ledger/open-ledger.ts";
import { messageOf } from "../../model/errors.ts";
import { defaultLeaseMs, type FailedRuns, type HeldLock, isKept, type Lease } from "../../model/lock.ts";
import { systemClock } from "../../model/ports.ts";
import { wait } from "../../model/wait.ts";
import { makeLiveLine } from "../../report/live-lines.ts";
import { describeAge, describeHolder, describeJob, describeState } from "../../report/lock-text.ts";
import { formatMilliseconds, formatSeconds } from "../../report/quantities.ts";
import type { Cli, WriterFlags } from "../cli.ts";
import type { Config } from "../config.ts";
import { CliError, interruptedWhile } from "./cli-error.ts";
import { refuseWhileRecoveryPending } from "./recovery.ts";
import { describeThisProcess } from "./this-process.ts";
import { inWorkspace, type Workspace } from "./workspace.ts";

/** How the lock is taken. */
export interface LockOptions {
  /** As it is typed, without arguments. */
  readonly command: string;
  /** Pending recovery records do not matter: `state recover`, and what may have to come before it. */
  readonly recovers?: boolean;
  readonly takeOver?: FailedRuns;
  /** How long to wait for another holder, milliseconds; absent: not at all. */
  readonly waitMs?: number | undefined;
}

/** By how much a lease outlasts the timeout of a call, which is sent within 5 s of its reservation; milliseconds. */
const leaseMarginMs = 10_000;

/** How often to try for a lock that another process holds, milliseconds. */
const retryEveryMs = 500;

/** Opens the workspace of a writing command and runs `work` under its lock. Throws what {@link withLock} throws. */
export async function inLockedWorkspace(
  cli: Cli,
  { flags, ...lock }: Pick<LockOptions, "command" | "recovers"> & { readonly flags: WriterFlags },
  work: (workspace: Workspace) => Promise<void>,
): Promise<void> {
  await inWorkspace(cli, flags, (workspace) =>
    withLock(workspace, { ...lock, waitMs: flags.lockTimeout }, () => work(workspace)),
  );
}

/**
 * Runs `work` as the only writer of the workspace, and releases the lock however it ends. Throws {@link CliError}
 * `lock-held` when another process holds it, `recovery-pending` while the recovery log has outcomes, and `aborted` after an
 * interrupt while waiting.
 */
export async function withLock<T>(
  workspace: Workspace,
  { command, recovers = false, takeOver, waitMs = 0 }: LockOptions,
  work: () => Promise<T>,
): Promise<T> {
  const { cli, config } = workspace;
  // Before a missing ledger is created, and again when the previous holder has ended.
  if (!recovers) refuseWhileRecoveryPending(config);
  const [store, holder] = await Promise.all([
    workspace.ledger(),
    describeThisProcess(cli, { command, root: config.root }),
  ]);
  // Each call renews the lease before it is sent: none of a holder that lost the ledger is in flight when the lease ends.
  const leaseMs = Math.max(defaultLeaseMs, config.service.timeoutMs + leaseMarginMs);
  const request = { holder, leaseMs, ...(takeOver && { takeOver }) };
  const tryOnce = () => store.acquireLock(request).catch((error) => nameWriter(store, error));
  const lease = await acquire(cli, tryOnce, waitMs).finally(() => cli.terminal.live?.hide());
  const { tookOver } = lease;
  if (tookOver !== undefined) {
    cli.terminal.err(
      `note: took over the lock of ${describeWithJob(tookOver)}: ${describeState(tookOver)}\n`,
    );
  }
  let hasWorked = false;
  try {
    if (!recovers) refuseWhileRecoveryPending(config);
    const result = await work();
    hasWorked = true;
    return result;
  } finally {
    await lease.release().catch((error: unknown) => {
      // A failure of the work has the same cause, and is printed after this.
      const cause = hasWorked ? `: ${messageOf(error)}` : ".";
      const text = `The lock is not released yet${cause} Once this process has ended, the next command takes it over.\n`;
      cli.terminal.log({ level: "warning", text, code: "lock-not-released" });
      releaseLater(config, lease.lock.id);
    });
  }
}

/** How often a process that lives on tries to release its lock, milliseconds. */
const releaseEveryMs = 5000;

/** Of a service: while its process runs, no other one takes its lock over. A ledger that is missing may be put back. */
function releaseLater(config: Config, id: string): void {
  const isOver = async () => {
    const opening = { location: config.stateLocation, clock: systemClock };
    const reader = await openLedgerReader(opening);
    const lock = await reader.heldLock().finally(() => reader.close());
    if (lock?.id !== id) return !reader.isMissing;
    const store = await openLedger(opening);
    await store.releaseLock(id).finally(() => store.close());
    return true;
  };
  const timer = setTimeout(async () => {
    if (!(await isOver().catch(() => false))) releaseLater(config, id);
  }, releaseEveryMs);
  timer.unref();
}

/** A process that is stopped within a commit keeps the ledger busy: the error names it as the holder of the lock. */
async function nameWriter(store: StateStore, error: unknown): Promise<never> {
  if (!(error instanceof LedgerError) || error.code !== "ledger-busy") throw error;
  const lock = await store.heldLock();
  throw lock !== undefined && isKept(lock) ? new LockHeldError(store.location, lock) : error;
}

async function acquire(
  { signal, terminal }: Cli,
  tryOnce: () => Promise<Lease>,
  waitMs: number,
): Promise<Lease> {
  let until: number | undefined;
  let shown: string | undefined;
  for (;;) {
    try {
      return await tryOnce();
    } catch (error) {
      if (!(error instanceof LockHeldError)) throw error;
      const now = systemClock.monotonic();
      until ??= now + waitMs;
      const leftMs = until - now;
      if (leftMs <= 0) throw explainHeld(error, waitMs);
      const holder = describeHolder(error.lock);
      if (holder !== shown && terminal.live === undefined) {
        const who = describeWithJob(error.lock);
        terminal.err(`waiting up to ${formatMilliseconds(leftMs)} for the lock of ${who}\n`);
      }
      shown = holder;
      const text = `waiting for the lock of ${holder}, ${formatSeconds(leftMs / 1000)} at most`;
      terminal.live?.show((columns) => [makeLiveLine({ text, columns, paint: terminal.paintErr })]);
      if (!(await wait(Math.min(leftMs, retryEveryMs), signal)))
        throw interruptedWhile("waiting for the lock");
    }
  }
}

function explainHeld(error: LockHeldError, waitMs: number): CliError {
  const { lock, code } = error;
  const job = describeJob(lock);
  const what = waitMs > 0 ? "timed out waiting for the lock of" : "the workspace is locked by";
  const advice = `for it with --lock-timeout 10m (${describeState(lock)})`;
  const hint = job === undefined ? `Wait ${advice}` : `See ${job} , or wait ${advice}`;
  const release = `. If it is permanently gone: draftsync lock release ${lock.id}`;
  return new CliError(`${what} ${describeHolder(lock)}, ${describeAge(lock)}; nothing was changed`, {
    code,
    hint: lock.state === "released" ? `${hint}.` : `${hint}${release}`,
    cause: error,
  });
}

function describeWithJob(lock: HeldLock): string {
  const job = describeJob(lock);
  return `${describeHolder(lock)}${job === undefined ? "" : `, ${job}`}`;
}
