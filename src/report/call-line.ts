import type { Event } from "../model/event.ts";
import type { LogEntry } from "../model/log.ts";
import { formatMilliseconds } from "./quantities.ts";
import { sanitizeLine } from "./sanitize-text.ts";

/**
 * A call that has ended, for `--verbose`: `POST /api/drafts/1/product_files 201 in 180 ms`. It leaves out the body, and
 * of a call to object storage neither query nor signature. `undefined` for every other event.
 */
export function formatCall(event: Event): LogEntry | undefined {
  const line = (request: string, facts: { method: string; status?: number; attempt: number; ms: number }) => {
    const { status, attempt, ms } = facts;
    const again = attempt === 1 ? "" : `, attempt ${attempt}`;
    const message = sanitizeLine(
      `${request} ${status ?? "no response"} in ${formatMilliseconds(ms)}${again}`,
    );
    return { level: "debug", text: `${message}\n`, message, code: event.type, facts } as const;
  };
  switch (event.type) {
    case "call_finished": {
      const { type: _type, at: _at, ...facts } = event;
      return line(`${event.method} ${event.path}`, facts);
    }
    case "storage_call_finished": {
      const { type: _type, at: _at, ...facts } = event;
      return line(`${event.method} s3://${event.bucket}/${event.key}`, facts);
    }
    default:
      return undefined;
  }
}
