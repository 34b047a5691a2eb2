import stringWidth from "fast-string-width";
import type { HistoryOperation, HistoryRun, RunStarter } from "./history-view.ts";
import type { Palette, Tone } from "./palette.ts";
import { withTitle } from "./plan-text.ts";
import { formatCount, formatMilliseconds, plural } from "./quantities.ts";
import { sanitizeLine } from "./sanitize-text.ts";

/** Runs with their operations, oldest first; ends with a line feed unless there is none. */
export function formatHistory(runs: readonly HistoryRun[], paint: Palette): string {
  return runs.map((run) => `${formatRun(run, paint)}\n`).join("\n");
}

function formatRun(run: HistoryRun, paint: Palette): string {
  const head = [
    paint("strong", timeOf(run.started_at)),
    paint("strong", sanitizeLine(run.command)),
    endOfRun(run),
    paint("muted", sanitizeLine(run.run_id)),
  ].join("  ");
  const starter =
    run.started_by === undefined ? [] : [`  ${paint("muted", describeStarter(run.started_by))}`];
  return [head, ...starter, ...formatOperations(run.operations, paint)].join("\n");
}

/** `by marie on ci-7, commit 1a2b3c4d5e6f, https://ci.example.com/jobs/7` */
export function describeStarter({ user, host, commit, ci_job }: RunStarter): string {
  const parts = [
    `by ${user} on ${host}`,
    ...(commit === undefined ? [] : [`commit ${commit.replace(/^([0-9a-f]{12})[0-9a-f]*/, "$1")}`]),
    ...(ci_job === undefined ? [] : [ci_job]),
  ];
  return sanitizeLine(parts.join(", "));
}

/** How a run ended, in a few words: `done, 9 done, 21 calls, in 1.4 s`. */
export function endOfRun(run: HistoryRun): string {
  if (run.finished_at === undefined) return "cut off, or under way";
  const took = Date.parse(run.finished_at) - Date.parse(run.started_at);
  return `${sanitizeLine((run.status ?? "ended").replaceAll("_", " "))}, ${countsOf(run.totals)}in ${formatMilliseconds(took)}`;
}

/** `9 done, 1 failed, 21 calls, `: what the run reported of itself. */
function countsOf(totals: unknown): string {
  const counts = entriesOf(totals).filter(([, count]) => count > 0);
  return counts
    .map(([name, count]) =>
      name === "calls"
        ? `${plural(count, "call")}, `
        : `${formatCount(count)} ${sanitizeLine(name.replaceAll("_", " "))}, `,
    )
    .join("");
}

function entriesOf(totals: unknown): readonly (readonly [string, number])[] {
  if (typeof totals !== "object" || totals === null) return [];
  return Object.entries(totals).flatMap(([name, count]: [string, unknown]) =>
    typeof count === "number" ? [[name, count] as const] : [],
  );
}

/** One of the counts that a run reported of itself. */
export function totalOf({ totals }: HistoryRun, name: string): number | undefined {
  return new Map(entriesOf(totals)).get(name);
}

/**
 * A line for each operation, in columns, and below it why it failed and how its doubt ended. With their `date`, when
 * they are not of one run.
 */
export function formatOperations(
  operations: readonly HistoryOperation[],
  paint: Palette,
  as: "time" | "date" = "time",
): readonly string[] {
  const widths = operations.map((operation) => stringWidth(sanitizeLine(withTitle(operation))));
  const width = Math.min(72, Math.max(0, ...widths.slice(0, 10_000)));
  return operations.flatMap((operation) => {
    const address = sanitizeLine(withTitle(operation));
    const gap = " ".repeat(Math.max(0, width - stringWidth(address)));
    const { started_at } = operation;
    const facts = callFacts(operation).join(", ");
    const outcome = paint(toneOf(operation), outcomeWord(operation).padEnd(8));
    const line = `  ${paint("muted", as === "date" ? timeOf(started_at) : started_at.slice(11, 19))}  ${operation.kind.padEnd(9)}  ${address}${gap}  ${outcome}  ${facts}`;
    return [line.trimEnd(), ...notesOf(operation, paint)];
  });
}

/** Longer values of attributes are only named. */
const maxValueLength = 40;

/** What is known of a call: `201`, `17 ms`, `2 attempts`, `product 771200`; of an update, what it sent: `renderer "karma"`. */
export function callFacts(operation: HistoryOperation): readonly string[] {
  const { kind, status, attempts = 1, started_at, finished_at, product_id, attributes = {} } = operation;
  const sent = Object.entries(kind === "update" ? attributes : {}).map(([name, value]) => {
    const text = JSON.stringify(value);
    return sanitizeLine(text.length > maxValueLength ? name : `${name} ${text}`);
  });
  return [
    ...(status === undefined ? [] : [String(status)]),
    ...(finished_at === undefined
      ? []
      : [formatMilliseconds(Date.parse(finished_at) - Date.parse(started_at))]),
    ...(attempts > 1 ? [plural(attempts, "attempt")] : []),
    ...(product_id === undefined ? [] : [`product ${product_id}`]),
    ...sent,
  ];
}

function notesOf({ failure, settled }: HistoryOperation, paint: Palette): readonly string[] {
  const notes = [];
  if (failure !== undefined) notes.push(`${sanitizeLine(failure.message)}  [${sanitizeLine(failure.code)}]`);
  if (settled !== undefined) {
    notes.push(`${timeOf(settled.at)}: ${sanitizeLine(describeSettled(settled))}`);
  }
  return notes.map((note) => `            ${paint("muted", note)}`);
}

/** How a doubt ended: `settled by ada on laptop: it took effect`. A check that found nothing names no one. */
export function describeSettled({ as, by, person }: NonNullable<HistoryOperation["settled"]>): string {
  const known = person === undefined ? "" : ` by ${person.user} on ${person.host}`;
  const who = by === undefined ? known : ` by operation ${by}`;
  const word = as === "done" ? "it took effect" : as === "not_sent" ? "it did not take effect" : as;
  return `settled${who}: ${word}`;
}

/** The outcome of a call in words; one that is unknown is in doubt until it is settled. */
export function outcomeWord({ outcome, settled }: HistoryOperation): string {
  if (outcome === "unknown") return settled === undefined ? "in doubt" : "unknown";
  return outcome === "not_sent" ? "not sent" : outcome;
}

function toneOf({ outcome, settled }: HistoryOperation): Tone {
  if (outcome === "done") return "added";
  if (outcome === "unknown") return settled === undefined ? "warning" : "muted";
  return "error";
}

/** `2026-11-21 06:53:10 UTC` */
function timeOf(iso: string): string {
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`;
}
