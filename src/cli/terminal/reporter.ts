import { isBlocked } from "../../model/change.ts";
import type { Event, EventSink } from "../../model/event.ts";
import type { Plan } from "../../model/plan.ts";
import { systemClock } from "../../model/ports.ts";
import { sanitizeJson } from "../../model/sanitize-json.ts";
import { namesOfPlan } from "../../plan/names.ts";
import type { LocationFinder } from "../../report/failures.ts";
import { makeProgress, type Progress, type ProgressOptions } from "../../report/progress.ts";
import type { Workspace } from "../runtime/workspace.ts";

/** How a command's calls are followed: as JSON on standard output, or in words on standard error. */
export interface ReporterOptions {
  readonly json?: boolean | undefined;
  /** Gives the names of the drafts that events are about. */
  readonly plan?: Plan;
  readonly locationOf?: LocationFinder;
  /** {@link ProgressOptions.isNews} */
  readonly isNews?: ProgressOptions["isNews"];
}

/** Opens what shows the events of a command. `stop` is to be called on every way out. */
export async function openReporter(
  { cli: { terminal }, config }: Workspace,
  { json, plan, locationOf = () => undefined, isNews }: ReporterOptions = {},
): Promise<Progress> {
  const nameOf = plan === undefined ? () => ({}) : namesOfPlan(plan);
  const named = (event: Event): Event =>
    "address" in event && event.address !== undefined ? { ...event, ...nameOf(event.address) } : event;
  // One JSON object a line.
  if (json) return { emit: (event) => terminal.out(`${sanitizeJson(named(event))}\n`), stop: () => {} };
  // A thousand lines are too many for a terminal, but not for a log.
  const isShort = terminal.live !== undefined && !terminal.isVerbose;
  const progress = makeProgress({
    log: (entry) => terminal.log(entry),
    paint: terminal.paintErr,
    nameOf,
    locationOf,
    isNews,
    live: terminal.live,
    addresses: isShort ? addressesIn(plan) : undefined,
    bound: config.service.rate,
    now: () => systemClock.monotonic(),
    every: repeat,
  });
  const { workspace } = config;
  const emit: EventSink = (event) => {
    if (event.type === "run_started") terminal.adjust({ context: { workspace, run_id: event.run_id } });
    progress.emit(named(event));
    if (event.type === "run_finished") terminal.adjust({ context: { workspace } });
  };
  return { emit, stop: progress.stop };
}

function addressesIn(plan: Plan | undefined): readonly string[] {
  return (plan?.changes ?? []).filter((change) => !isBlocked(change)).map(({ address }) => address);
}

/** Keeps no process alive. */
function repeat(ms: number, work: () => void): () => void {
  const timer = setInterval(work, ms).unref();
  return () => clearInterval(timer);
}
