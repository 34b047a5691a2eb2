import { Option } from "commander";
import type { RunLimits } from "../../apply/run-budget.ts";
import type { Desired } from "../../model/desired.ts";
import type { EventSink } from "../../model/event.ts";
import type { Observed, RefreshMode } from "../../model/observed.ts";
import { systemClock } from "../../model/ports.ts";
import type { Recorded } from "../../model/recorded.ts";
import { makeFileIdFinder } from "../../plan/recorded-index.ts";
import type { RefreshPolicy } from "../../refresh/select-targets.ts";
import type { Cli } from "../cli.ts";
import type { Config } from "../config.ts";
import { CliError, interruptedWhile } from "./cli-error.ts";
import type { Workspace } from "./workspace.ts";

/** The flag for how much of the service is checked. */
export interface RefreshFlags {
  readonly refresh?: "none" | RefreshMode;
}

/** `--refresh`; without a default, the config decides. */
export function refreshOption(byDefault?: RefreshMode): Option {
  const modes = "check the service first: none, budget (up to refresh.max_calls), full";
  const text = byDefault === undefined ? `${modes} (default: budget if the config has \`refresh\`)` : modes;
  return new Option("--refresh <mode>", text).choices(["none", "budget", "full"]).default(byDefault);
}

/** How much of the service is checked; `undefined`: nothing. */
export function refreshModeOf({ refresh }: RefreshFlags, config: Config): RefreshMode | undefined {
  if (refresh === undefined) return config.refresh.byDefault ? "budget" : undefined;
  return refresh === "none" ? undefined : refresh;
}

/** What a refresh needs. */
export interface RefreshRequest {
  readonly mode: RefreshMode;
  /** Whether attachments are checked; absent: as the config says. */
  readonly attachments?: "none" | "probe";
  /** Only these addresses, and what is below them; empty: everything. */
  readonly targets: readonly string[];
  /** Those of the command: a refresh takes at most half of the calls and of the time that are left. */
  readonly limits?: RunLimits;
  readonly desired: Desired;
  readonly recorded: Recorded;
  readonly emit: EventSink;
}

/**
 * Looks at the service. Writes nothing to it or to the ledger. Throws {@link CliError} with the failure's code when the
 * service cannot be worked with at all, and `aborted` after an interrupt.
 */
export async function refresh(
  { signal }: Pick<Cli, "signal">,
  workspace: Workspace,
  { mode, attachments, targets, limits = {}, desired, recorded, emit }: RefreshRequest,
): Promise<Observed> {
  const { observe } = await import("../../refresh/observe.ts");
  const { service: settings, refresh: policy } = workspace.config;
  const service = await workspace.connect(emit);
  const { observed, stopped } = await observe({
    desired,
    recorded,
    policy: limitPolicy(
      { ...policy, ...(attachments === undefined ? {} : { attachments }), mode, targets },
      limits,
    ),
    reader: service,
    fileIdOf: makeFileIdFinder(recorded),
    settleDelayMs: settings.profile.settle_delay,
    concurrency: settings.concurrency,
    clock: systemClock,
    emit,
    signal: AbortSignal.any([signal, ...timeUp(limits)]),
  });
  if (signal.aborted) throw interruptedWhile("checking the service");
  if (stopped === undefined) return observed;
  const { code, message, hint = "" } = stopped;
  throw new CliError(`the service could not be checked: ${message}`, {
    code,
    hint: `${hint} To plan from the ledger alone: --refresh none`.trim(),
  });
}

/** The other half is for the changes: a refresh of a large workspace would use up the limit of every run. */
function limitPolicy(policy: RefreshPolicy, { maxCalls }: RunLimits): RefreshPolicy {
  if (maxCalls === undefined) return policy;
  const half = Math.floor(maxCalls / 2);
  const allowed = policy.mode === "full" ? half : Math.min(policy.maxCalls, half);
  return { ...policy, mode: "budget", maxCalls: allowed };
}

function timeUp({ until }: RunLimits): readonly AbortSignal[] {
  if (until === undefined) return [];
  const halfMs = Math.max(0, (until - systemClock.now()) / 2);
  return [AbortSignal.timeout(Math.min(Math.round(halfMs), 2 ** 31 - 1))];
}
