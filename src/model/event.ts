import type { z } from "zod";
import type { eventSchema } from "./event-schema.ts";

/** The version of the events' JSON. */
export const eventFormatVersion = 1;

/**
 * What the engine says while it works. Events hold no words for people (report/ finds those) and no secrets.
 * Times are epoch milliseconds (`at`) and milliseconds (`ms`).
 */
export type Event = z.output<typeof eventSchema>;

/** How a run ended, counted in changes; `calls` counts requests to the service, retries and polls included. */
export type RunTotals = Extract<Event, { type: "run_finished" }>["totals"];

/** How the bytes of a file were put into storage. */
export type StoreOutcome = Extract<Event, { type: "upload_finished" }>["outcome"];

/** What a wait is for; `shared_bound`: others use the rate bound, or did until they ended; `ledger`: its database. */
export type WaitReason = Extract<Event, { type: "waiting" }>["reason"];

/** Where events go. Must not throw and must not block. */
export type EventSink = (event: Event) => void;

/** The limit at which a run stopped before the end of its plan: of calls, or of time. */
export type RunLimit = "max_calls" | "until";
