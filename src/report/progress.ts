import type { Event, EventSink } from "../model/event.ts";
import { fitColumns } from "./fit-columns.ts";
import type { Palette } from "./palette.ts";
import type { PlaceFinder } from "./progress-text.ts";
import { formatFinished, formatRunFinished, formatUpload, formatWaiting } from "./progress-text.ts";
import { formatCount, plural } from "./quantities.ts";

/** Where and how progress is shown. */
export interface ProgressOptions {
  readonly write: (text: string) => void;
  readonly paint: Palette;
  readonly placeOf: PlaceFinder;
  /** Keep a status line below the finished changes and rewrite it in place. */
  readonly live: boolean;
  readonly columns: number;
}

/** Shows events as they come. `stop` takes the status line away; to be called on every way out. */
export interface Progress {
  readonly emit: EventSink;
  stop(): void;
}

/** A status line is rewritten at most this often, milliseconds. */
const refreshMs = 80;
/** Without a status line only waits of this length are worth a line, milliseconds. */
const longWaitMs = 2000;

/** Follows a run on a stream for people. */
export function makeProgress(options: ProgressOptions): Progress {
  const { write, paint, placeOf, live } = options;
  let shown = false;
  let lastAt = 0;
  let total = 0;
  let ended = 0;
  let calls = 0;
  let now = "";
  /** Calls that the refresh under way takes. */
  let looking: number | undefined;

  const clear = () => {
    if (shown) write("\r\u001b[2K");
    shown = false;
  };
  const line = (text: string) => {
    clear();
    write(`${text}\n`);
  };
  const status = (at: number, force: boolean) => {
    if (!live || (!force && at - lastAt < refreshMs)) return;
    lastAt = at;
    const done =
      looking === undefined
        ? [`${ended}/${total} changes`, plural(calls, "call")]
        : [`looking at the service: ${formatCount(calls)}/${plural(looking, "call")}`];
    const text = [...done, now].filter((part) => part !== "").join(" · ");
    clear();
    write(paint("muted", fitColumns(text, Math.max(1, options.columns - 1))));
    shown = true;
  };
  const emit = (event: Event) => {
    switch (event.type) {
      case "planned":
        return;
      case "refresh_started":
        looking = event.calls;
        return status(event.at, true);
      case "refresh_finished":
        looking = undefined;
        calls = 0;
        return clear();
      case "run_started": {
        const { noop: _unchanged, in_doubt: _blocked, ...counted } = event.summary;
        total = Object.values(counted).reduce((sum, count) => sum + count, 0);
        return status(event.at, true);
      }
      case "change_started":
        return status(event.at, false);
      case "change_finished":
        ended += 1;
        line(formatFinished(event, paint, placeOf));
        return status(event.at, true);
      case "call_finished":
        calls += 1;
        now = "";
        return status(event.at, false);
      case "waiting":
        if (live) now = formatWaiting(event);
        else if (event.ms >= longWaitMs) line(`    ${formatWaiting(event)}`);
        return status(event.at, true);
      case "upload_progress":
        now = formatUpload(event);
        return status(event.at, event.sent === event.total);
      case "run_finished":
        return line(`\n${formatRunFinished(event, paint)}`);
    }
  };
  return { emit, stop: clear };
}
