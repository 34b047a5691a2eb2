import { resolve } from "node:path";
import type { DeclaredWorkspace, FleetWorkspace } from "../../fleet/fleet-store.ts";
import { ledgerAt } from "../../ledger/postgres/postgres-location.ts";
import type { Palette } from "../../report/palette.ts";
import { formatSeconds, plural } from "../../report/quantities.ts";
import type { Cli } from "../cli.ts";
import type { ApplyFleetFlags, FleetFlags } from "../commands/fleet.ts";
import { loadConfig } from "../config.ts";
import { CliError } from "../runtime/cli-error.ts";
import { inFleet, pick } from "./open-fleet.ts";

/** `draftsync fleet apply` */
export async function applyFleet(
  { cwd, env, terminal }: Cli,
  { fleet: file, dryRun, retireMost }: ApplyFleetFlags,
): Promise<void> {
  await inFleet({ cwd, env }, { file, migrates: true }, async ({ config, store, queue }) => {
    const declared = await config.declared();
    await refuseSharedLedgers(declared, config.root);
    const { workspaces } = await store.list();
    const difference = compare(workspaces, declared);
    terminal.show(formatDifference(difference, terminal.paintOut));
    const { added, changed, retired } = difference;
    const kept = declared.length - added.length;
    if (retireMost !== true && retired.length > 1 && retired.length > kept) {
      throw new CliError(`${retired.length} of ${workspaces.length} workspaces would run no more`, {
        code: "most-retired",
        hint: "Check the patterns of `workspaces` in fleet.yaml. If this is meant: draftsync fleet apply --retire-most",
      });
    }
    if (dryRun === true || added.length + changed.length + retired.length === 0) return;
    await store.declare(
      [...added, ...changed.map(({ to }) => to)],
      retired.map(({ name }) => name),
    );
    const entries = await queue();
    for (const { name } of retired) await entries.remove(name);
    for (const [name, inMs] of await store.due()) await entries.add(name, inMs);
    terminal.err("The fleet is now as fleet.yaml says.\n");
  });
}

/**
 * Refuses two workspaces with one ledger, such as those of a copied folder: each would delete the files of the other. The run of
 * a workspace reports a config that cannot be read. Throws {@link CliError} `ledger-shared`.
 */
async function refuseSharedLedgers(declared: readonly DeclaredWorkspace[], root: string): Promise<void> {
  const configs = new Map<string, string>();
  for (const { config } of declared) {
    const ledger = await ledgerOf(resolve(root, config));
    if (ledger === undefined) continue;
    const other = configs.get(ledger);
    if (other !== undefined) {
      throw new CliError(`${other} and ${config} have the same ledger`, {
        code: "ledger-shared",
        hint: "Give each workspace a `state` of its own, such as another ?schema=NAME.",
      });
    }
    configs.set(ledger, config);
  }
}

async function ledgerOf(config: string): Promise<string | undefined> {
  try {
    return ledgerAt((await loadConfig({ cwd: "/", env: {}, flags: { config } })).stateLocation);
  } catch {
    return undefined;
  }
}

interface Difference {
  readonly added: readonly DeclaredWorkspace[];
  readonly changed: readonly { readonly to: DeclaredWorkspace; readonly changes: string }[];
  readonly retired: readonly FleetWorkspace[];
  readonly unchanged: number;
}

function compare(workspaces: readonly FleetWorkspace[], declared: readonly DeclaredWorkspace[]): Difference {
  const known = new Map(workspaces.map((each) => [each.name, each]));
  const names = new Set(declared.map(({ name }) => name));
  const added = declared.filter(({ name }) => !known.has(name));
  const changed = declared.flatMap((to) => {
    const from = known.get(to.name);
    const changes = from === undefined ? "" : changesOf(from, to);
    return changes === "" ? [] : [{ to, changes }];
  });
  return {
    added,
    changed,
    retired: workspaces.filter(({ name }) => !names.has(name)),
    unchanged: declared.length - added.length - changed.length,
  };
}

function changesOf(from: FleetWorkspace, to: DeclaredWorkspace): string {
  const every = (ms: number) => formatSeconds(ms / 1000);
  const pausedText = (paused: boolean) => (paused ? "yes" : "no");
  const settings = [
    { name: "config", before: from.config, after: to.config },
    { name: "every", before: every(from.every_ms), after: every(to.everyMs) },
    { name: "key", before: from.key ?? "of its config", after: to.key ?? "of its config" },
    { name: "paused", before: pausedText(from.paused), after: pausedText(to.paused ?? from.paused) },
  ];
  return settings
    .filter(({ before, after }) => before !== after)
    .map(({ name, before, after }) => `${name} ${before} → ${after}`)
    .join(", ");
}

function formatDifference({ added, changed, retired, unchanged }: Difference, paint: Palette): string {
  const lines = [
    ...added.map((each) => `${paint("added", "+")} ${each.name}  ${settingsOf(each)}\n`),
    ...changed.map(({ to, changes }) => `${paint("changed", "~")} ${to.name}  ${changes}\n`),
    ...retired.map(({ name, config }) => `${paint("removed", "-")} ${name}  ${config}: runs no more\n`),
  ];
  const counts = [
    [added.length, "to add"],
    [changed.length, "to change"],
    [retired.length, "to retire"],
    [unchanged, "unchanged"],
  ] as const;
  const parts = counts.flatMap(([count, word]) => (count > 0 ? [`${count} ${word}`] : []));
  const total = plural(added.length + changed.length + unchanged, "workspace");
  return `${lines.join("")}${lines.length > 0 ? "\n" : ""}${total}: ${parts.join(", ")}\n`;
}

function settingsOf({ config, everyMs, key, paused }: DeclaredWorkspace): string {
  const facts = [
    config,
    `every ${formatSeconds(everyMs / 1000)}`,
    ...(key === undefined ? [] : [`key ${key}`]),
    ...(paused === true ? ["paused"] : []),
  ];
  return facts.join(", ");
}

const unpauseHint = "Change `paused` in the `overrides` of fleet.yaml, then run `draftsync fleet apply`.";

/** `draftsync fleet run` */
export async function runNow(
  { cwd, env, terminal }: Cli,
  names: readonly string[],
  { fleet: file, all }: FleetFlags & { readonly all?: boolean },
): Promise<void> {
  if (names.length > 0 === (all === true)) {
    throw new CliError(all === true ? "names and --all were both given" : "no workspace was named", {
      code: "invalid-flag",
      hint: "Use `draftsync fleet run lantern`, or `draftsync fleet run --all`.",
    });
  }
  await inFleet({ cwd, env }, { file }, async ({ config, store, queue }) => {
    const { workspaces, workers } = await store.list();
    const chosen = all === true ? workspaces : pick(names, workspaces);
    const paused = chosen.filter((each) => each.paused).map(({ name }) => name);
    if (all !== true && paused.length > 0) {
      const declared = await config.declared();
      const isDeclared = declared.some((each) => each.paused === true && paused.includes(each.name));
      throw new CliError(`${paused.join(", ")} ${paused.length === 1 ? "is" : "are"} paused`, {
        code: "workspace-paused",
        hint: isDeclared ? unpauseHint : `Resume it first: draftsync fleet resume ${paused.join(" ")}`,
      });
    }
    const running = chosen.filter((each) => !each.paused).map(({ name }) => name);
    await store.want(running);
    const entries = await queue();
    for (const name of running) await entries.add(name, 0);
    const how =
      workers.length > 0
        ? "now; `draftsync fleet status` shows how it goes"
        : "when a worker does: start one with `draftsync fleet worker`";
    terminal.err(`${plural(running.length, "workspace")} will run ${how}.\n`);
    if (paused.length > 0) terminal.err(`${paused.length} paused: they do not run.\n`);
  });
}

/** `draftsync fleet pause` and `draftsync fleet resume` */
export async function pause(
  { cwd, env, terminal }: Cli,
  names: readonly string[],
  { fleet: file, paused }: FleetFlags & { readonly paused: boolean },
): Promise<void> {
  await inFleet({ cwd, env }, { file }, async ({ config, store, queue }) => {
    const chosen = pick(names, (await store.list()).workspaces).map(({ name }) => name);
    const declared = new Map((await config.declared()).map((each) => [each.name, each.paused]));
    const fixed = chosen.filter((name) => (declared.get(name) ?? paused) !== paused);
    if (fixed.length > 0) {
      throw new CliError(`fleet.yaml says paused: ${!paused} for ${fixed.join(", ")}`, {
        code: "workspace-paused",
        hint: unpauseHint,
      });
    }
    await store.setPaused(chosen, paused);
    const entries = await queue();
    const due = await store.due();
    for (const name of chosen) {
      if (paused) await entries.remove(name).catch(() => {});
      else await entries.add(name, due.get(name) ?? 0);
    }
    const done = paused ? "paused; a run in progress is completed" : "resumed";
    terminal.err(`${plural(chosen.length, "workspace")} ${done}.\n`);
  });
}
