import { Ajv2020 } from "ajv/dist/2020.js";
import { z } from "zod";
import type { Event } from "../../src/model/event.ts";
import { eventJsonSchema, eventSchema } from "../../src/model/event-schema.ts";

const ajv = new Ajv2020({ allErrors: true, strict: false });
const asPublished = ajv.compile(eventJsonSchema());
/** With no member but the documented ones. */
const asDocumented = ajv.compile(z.toJSONSchema(eventSchema, { io: "output" }));

/** Whether the published schema takes it, judged by a validator that is not ours. */
export function isPublished(event: unknown): boolean {
  return asPublished(event) === true;
}

/** What is wrong with an event, or not documented; empty when nothing is. */
export function mistakesIn(event: unknown): string[] {
  if (asPublished(event) && asDocumented(event)) return [];
  const errors = asPublished.errors ?? asDocumented.errors ?? [];
  return errors.map(({ instancePath, message }) => `${instancePath} ${message}`);
}

/** What `--json` wrote, each line an event as it is documented. Throws for anything else. */
export function parseEvents(stdout: string): readonly Event[] {
  const events = stdout
    .trimEnd()
    .split("\n")
    .map((line): unknown => JSON.parse(line));
  for (const event of events) {
    const mistakes = mistakesIn(event);
    if (mistakes.length > 0) throw new Error(`${JSON.stringify(event)}: ${mistakes.join("; ")}`);
  }
  const parsed = events.map((event) => eventSchema.parse(event));
  const [first] = parsed;
  if (first === undefined || !("format_version" in first)) throw new Error("the first event has no version");
  return parsed;
}
