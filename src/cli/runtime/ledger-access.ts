import { InvalidArgumentError } from "commander";
import { newRunId } from "../../apply/context.ts";
import type { LedgerReader } from "../../ledger/ledger-reader.ts";
import { formatAddress, parseId, quoteArgument } from "../../model/address.ts";
import type { Desired } from "../../model/desired.ts";
import type { Ledger, LedgerEffect } from "../../model/ports.ts";
import type { Recorded } from "../../model/recorded.ts";
import { type AddressScope, parseScope } from "../../model/scope.ts";
import { resolveTargets } from "../../plan/target-names.ts";
import { sanitizeLine } from "../../report/sanitize-text.ts";
import type { Cli, WorkspaceFlags } from "../cli.ts";
import type { Config } from "../config.ts";
import { CliError } from "./cli-error.ts";
import { warnWhileRecoveryPending } from "./recovery.ts";
import { inWorkspace } from "./workspace.ts";

/** Opens the ledger for a command that only reads it; notes a recovery log that was not replayed. */
export async function readLedger<T>(
  cli: Cli,
  flags: WorkspaceFlags,
  read: (ledger: LedgerReader, config: Config) => Promise<T>,
): Promise<T> {
  return inWorkspace(cli, flags, async ({ config, reader }) => {
    warnWhileRecoveryPending(cli, config);
    return read(await reader(), config);
  });
}

/**
 * What an argument selects in the ledger: an address, or drafts by their id or recorded title. Throws {@link CliError}
 * `address-unknown` when it is none.
 */
export function readScopes(text: string, { titles }: Pick<Recorded, "titles">): readonly AddressScope[] {
  return resolveTargets([text], { drafts: [], duplicates: [] }, { titles }).map((target) => {
    const scope = parseScope(target);
    if (scope !== undefined) return scope;
    throw new CliError(`${JSON.stringify(text)} is not an address, and not the id or title of a draft`, {
      code: "address-unknown",
      hint: "Use an address from `draftsync state list`, or a draft such as drafts/48213.",
    });
  });
}

/** A commander option parser for a product's id. */
export function parseProductId(text: string): number {
  const id = parseId(text);
  if (id === undefined)
    throw new InvalidArgumentError(
      `A product id is a plain number, such as 771200, of at most ${Number.MAX_SAFE_INTEGER}.`,
    );
  return id;
}

/**
 * Changes the ledger in a run without calls: the history shows who did it, and when. Saved plans about it become stale, but for
 * the one of the run with this `runId`.
 */
export async function recordEdit(
  ledger: Ledger,
  command: string,
  effects: readonly LedgerEffect[],
  { done = 1, runId }: { readonly done?: number; readonly runId?: string } = {},
): Promise<void> {
  const id = newRunId();
  const startedAt = await ledger.now();
  // First: an edit that the ledger refuses is no run.
  if (effects.length > 0) await ledger.record(effects, runId ?? id);
  await ledger.startRun({ id, command, planId: "", startedAt });
  await ledger.finishRun(id, { totals: { done, calls: 0 }, status: "done" });
}

/** Warns of copies of a product that `effects` record as made before the ledger: the next apply would repeat them. */
export function warnOfCopies(
  { terminal }: Cli,
  effects: readonly LedgerEffect[],
  { desired, recorded }: { readonly desired: Desired; readonly recorded: Recorded },
): void {
  const published = new Set(effects.flatMap((each) => (each.type === "published" ? [each.draftId] : [])));
  const known = new Set([
    ...recorded.duplicates.map(({ name }) => name),
    ...effects.flatMap((each) => (each.type === "duplicated" ? [each.name] : [])),
  ]);
  for (const { name, product } of desired.duplicates) {
    if (product.by !== "draft" || !published.has(product.draftId) || known.has(name)) continue;
    const warning = terminal.paintErr("warning", "warning:");
    const address = formatAddress({ type: "duplicate", name });
    const text = `${address} is not recorded, and the next apply copies draft ${product.draftId}; if the copy exists already, run \`draftsync import ${quoteArgument(address)}=ID\` first`;
    terminal.log({ level: "warning", text: `${warning} ${sanitizeLine(text)}\n`, code: "copy-not-recorded" });
  }
}
