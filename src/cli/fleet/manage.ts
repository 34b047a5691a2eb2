import type { DeclaredWorkspace } from "../../fleet/fleet-settings.ts";
import type { FleetDifference, FleetWorkspace } from "../../fleet/fleet-store.ts";
import type { Palette } from "../../report/palette.ts";
import { formatSeconds, plural } from "../../report/quantities.ts";
import type { Cli } from "../cli.ts";
import type { ApplyFleetFlags, FleetFlags } from "../commands/fleet.ts";
import { CliError } from "../runtime/cli-error.ts";
import { inFleet, type OpenFleet, pick } from "./open-fleet.ts";
import { refuseSharedLedgers } from "./shared-ledgers.ts";

/** `draftsync fleet apply` */
export async function applyFleet(
  cli: Cli,
  { fleet: file, dryRun, retireMost }: ApplyFleetFlags,
): Promise<void> {
  await inFleet(cli, { file, migrates: true }, async ({ config, store, queue }) => {
    const declared = await config.declared();
    await refuseSharedLedgers(declared, config.root);
    const difference = await store.compare(declared);
    const { terminal } = cli;
    terminal.show(formatDifference(difference, terminal.paintOut));
    const { added, changed, retired, unchanged } = difference;
    const kept = changed.length + unchanged;
    if (retireMost !== true && retired.length > 1 && retired.length > kept) {
      throw new CliError(`${retired.length} of ${retired.length + kept} workspaces would run no more`, {
        code: "most-retired",
        hint: "Check the patterns of `workspaces` in fleet.yaml. If this is meant: draftsync fleet apply --retire-most",
      });
    }
    if (dryRun === true || added.length + changed.length + retired.length === 0) return;
    await store.apply(difference);
    const entries = await queue();
    for (const { name } of retired) await entries.remove(name);
    for (const [name, inMs] of await store.due()) await entries.add(name, inMs);
    terminal.err("The fleet is now as fleet.yaml says.\n");
  });
}

function formatDifference({ added, changed, retired, unchanged }: FleetDifference, paint: Palette): string {
  const lines = [
    ...added.map((each) => `${paint("added", "+")} ${each.name}  ${settingsOf(each)}\n`),
    ...changed.map(({ from, to }) => `${paint("changed", "~")} ${to.name}  ${changesOf(from, to)}\n`),
    ...retired.map(({ name, config }) => `${paint("removed", "-")} ${name}  ${config}: runs no more\n`),
  ];
  const counts = [
    [added.length, "to add"],
    [changed.length, "to change"],
    [retired.length, "to retire"],
    [unchanged, "unchanged"],
  ] as const;
  const parts = counts.flatMap(([count, word]) => (count > 0 ? [`${count} ${word}`] : []));
  return `${lines.join("")}${lines.length > 0 ? "\n" : ""}${plural(added.length + changed.length + unchanged, "workspace")}: ${parts.join(", ")}\n`;
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

function changesOf(from: FleetWorkspace, to: DeclaredWorkspace): string {
  const pairs: readonly (readonly [name: string, before: string, after: string])[] = [
    ["config", from.config, to.config],
    ["every", formatSeconds(from.every_ms / 1000), formatSeconds(to.everyMs / 1000)],
    ["key", from.key ?? "of its config", to.key ?? "of its config"],
    ["paused", from.paused ? "yes" : "no", (to.paused ?? from.paused) ? "yes" : "no"],
  ];
  return pairs
    .filter(([, before, after]) => before !== after)
    .map(([name, before, after]) => `${name} ${before} → ${after}`)
    .join(", ");
}

const unpauseHint = "Change `paused` in the `overrides` of fleet.yaml, then run `draftsync fleet apply`.";

/** `draftsync fleet run` */
export async function runNow(
  cli: Cli,
  names: readonly string[],
  { fleet: file, all }: FleetFlags & { readonly all?: boolean },
): Promise<void> {
  if (names.length > 0 === (all === true)) {
    throw new CliError(all === true ? "names and --all were both given" : "no workspace was named", {
      code: "invalid-flag",
      hint: "Use `draftsync fleet run lantern`, or `draftsync fleet run --all`.",
    });
  }
  await inFleet(cli, { file }, async (fleet) => {
    const { workspaces, workers } = await fleet.store.list();
    const chosen = all === true ? workspaces : pick(names, workspaces);
    const paused = chosen.filter((each) => each.paused);
    if (all !== true && paused.length > 0) {
      const names = paused.map(({ name }) => name);
      const declared = await fleet.config.declared();
      const isDeclared = declared.some((each) => each.paused === true && names.includes(each.name));
      throw new CliError(`${names.join(", ")} ${names.length === 1 ? "is" : "are"} paused`, {
        code: "workspace-paused",
        hint: isDeclared ? unpauseHint : `Resume it first: draftsync fleet resume ${names.join(" ")}`,
      });
    }
    const running = chosen.filter((each) => !each.paused).map(({ name }) => name);
    await fleet.store.want(running);
    await comeUp(fleet, running);
    const how =
      workers.length > 0
        ? "now; `draftsync fleet status` shows how it goes"
        : "when a worker does: start one with `draftsync fleet worker`";
    cli.terminal.err(`${plural(running.length, "workspace")} will run ${how}.\n`);
    if (paused.length > 0) cli.terminal.err(`${paused.length} paused: they do not run.\n`);
  });
}

async function comeUp({ queue }: OpenFleet, names: readonly string[]): Promise<void> {
  const entries = await queue();
  for (const name of names) {
    await entries.add(name, 0);
    await entries.hurry(name);
  }
}

/** `draftsync fleet pause` and `draftsync fleet resume` */
export async function pause(
  cli: Cli,
  names: readonly string[],
  { fleet: file, paused }: FleetFlags & { readonly paused: boolean },
): Promise<void> {
  await inFleet(cli, { file }, async ({ config, store, queue }) => {
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
    cli.terminal.err(
      paused
        ? `${plural(chosen.length, "workspace")} paused; a run under way goes on to its end.\n`
        : `${plural(chosen.length, "workspace")} resumed.\n`,
    );
  });
}
