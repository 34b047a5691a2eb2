import { LedgerError, LockHeldError } from "../../ledger/ledger-error.ts";
import type { StateStore } from "../../ledger/open-ledger.ts";
import { messageOf } from "../../model/errors.ts";
import type { Lease } from "../../model/lock.ts";
import { systemClock } from "../../model/ports.ts";
import { wait } from "../../model/wait.ts";
import { makeLiveLine } from "../../report/live-lines.ts";
import { describeAge, describeHolder, describeJob, describeState } from "../../report/lock-text.ts";
import { formatMilliseconds, formatSeconds } from "../../report/quantities.ts";
import type { Cli } from "../cli.ts";
import { CliError, interruptedWhile } from "./cli-error.ts";
import { refuseWhileRecoveryPending } from "./recovery.ts";
import { describeThisProcess } from "./this-process.ts";
import type { Workspace } from "./workspace.ts";

/** What holds the lock, and for which command. */
export interface LockOptions {
  readonly workspace: Workspace;
  /** As it is typed, without arguments. */
  readonly command: string;
  /** Kept outcomes are in nobody's way: `state recover`, and an import of the ledger that they belong to. */
  readonly recovers?: boolean;
  /** Locks of runs that have failed: model/ports.ts, `LockRequest`. */
  readonly takeOver?: readonly string[];
  /** How long to wait for another holder, milliseconds; not at all when absent. */
  readonly waitMs?: number | undefined;
}

/** How often to try for a lock that another process holds, milliseconds. */
const askEveryMs = 500;

/**
 * Runs `work` as the only writer of the workspace, and gives the lock back however it ends. Throws {@link CliError}
 * `lock-held` when another process holds it, `recovery-pending` while outcomes wait in the recovery log, and
 * `aborted` when it is interrupted while it waits.
 */
export async function withLock<T>(
  cli: Cli,
  { workspace, command, recovers = false, takeOver = [], waitMs = 0 }: LockOptions,
  work: () => Promise<T>,
): Promise<T> {
  // Before a missing ledger is created, and again when the previous holder has ended.
  if (!recovers) refuseWhileRecoveryPending(workspace.config);
  const [store, holder] = await Promise.all([
    workspace.ledger(),
    describeThisProcess(cli, { command, root: workspace.config.root }),
  ]);
  const ask = () => store.acquireLock({ holder, takeOver }).catch((error) => nameWriter(store, error));
  const asking = acquire(cli, { ask, waitMs });
  const lease = await asking.finally(() => cli.terminal.live?.hide());
  reportTakeover(cli, lease);
  try {
    if (!recovers) refuseWhileRecoveryPending(workspace.config);
    return await work();
  } finally {
    await lease.release().catch((error: unknown) => {
      const text = `The lock was not released (the next command takes it over): ${messageOf(error)}\n`;
      cli.terminal.log({ level: "warning", text, code: "lock-not-released" });
    });
  }
}

/** A holder that was stopped within a commit keeps the whole ledger locked: then it is named, as for its lock. */
async function nameWriter(store: StateStore, error: unknown): Promise<never> {
  if (!(error instanceof LedgerError) || error.code !== "ledger-busy") throw error;
  const lock = await store.heldLock();
  throw lock === undefined ? error : new LockHeldError(store.location, lock);
}

async function acquire(
  { signal, terminal }: Cli,
  { ask, waitMs }: { readonly ask: () => Promise<Lease>; readonly waitMs: number },
): Promise<Lease> {
  let until: number | undefined;
  let shown: string | undefined;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof LockHeldError)) throw error;
      const now = systemClock.monotonic();
      until ??= now + waitMs;
      const leftMs = until - now;
      if (leftMs <= 0) throw explainHeld(error, waitMs);
      const who = describeHolder(error.lock);
      if (who !== shown && terminal.live === undefined) {
        const job = describeJob(error.lock);
        terminal.err(
          `waiting up to ${formatMilliseconds(leftMs)} for the lock of ${who}${job === undefined ? "" : `, ${job}`}\n`,
        );
      }
      shown = who;
      const waiting = `waiting for the lock of ${who}, ${formatSeconds(leftMs / 1000)} at most`;
      terminal.live?.show((columns) => [makeLiveLine({ text: waiting, columns, paint: terminal.paintErr })]);
      if (!(await wait(Math.min(leftMs, askEveryMs), signal))) throw interruptedWhile("waiting for the lock");
    }
  }
}

function explainHeld(error: LockHeldError, waitMs: number): CliError {
  const { lock, code } = error;
  const job = describeJob(lock);
  const who = `${describeHolder(lock)}, ${describeAge(lock)}`;
  const what = waitMs > 0 ? "timed out waiting for the lock of" : "the workspace is locked by";
  const wait = `wait for it with --lock-timeout 10m (${describeState(lock)})`;
  const hint = job === undefined ? wait.replace("w", "W") : `See ${job} , or ${wait}`;
  return new CliError(`${what} ${who}; nothing was changed`, {
    code,
    hint: `${hint}. If it is permanently gone: draftsync lock release ${lock.id}`,
    cause: error,
  });
}

function reportTakeover({ terminal }: Cli, { tookOver }: Lease): void {
  if (tookOver === undefined) return;
  const job = describeJob(tookOver);
  const who = `${describeHolder(tookOver)}${job === undefined ? "" : `, ${job}`}`;
  terminal.err(`note: took over the lock of ${who}: ${describeState(tookOver)}\n`);
}
