import { Ajv2020 } from "ajv/dist/2020.js";
import { z } from "zod";
import type { Event } from "../../src/model/event.ts";
import { eventJsonSchema, eventSchema } from "../../src/model/event-schema.ts";

const ajv = new Ajv2020({ allErrors: true, strict: false });
const asPublished = ajv.compile(eventJsonSchema());
/** Accepts only the documented members. */
const asDocumented = ajv.compile(z.toJSONSchema(eventSchema, { io: "output" }));

/** Whether an independent validator accepts the event by the published schema. */
export function isPublished(event: unknown): boolean {
  return asPublished(event) === true;
}

/** The invalid or undocumented parts of an event. */
export function mistakesIn(event: unknown): string[] {
  if (asPublished(event) && asDocumented(event)) return [];
  const errors = asPublished.errors ?? asDocumented.errors ?? [];
  return errors.map(({ instancePath, message }) => `${instancePath} ${message}`);
}

/** The events in the output of `--json`. Throws for lines that are not documented events. */
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
