import type { HttpBindings } from "@hono/node-server";
import type { Context } from "hono";
import type { Sending } from "./faults/gate.ts";
import type { Settings } from "./options.ts";
import type { RequestLogEntry } from "./request-log.ts";
import type { Blobs } from "./storage/blobs.ts";
import type { Store } from "./store/store.ts";

/** What the routes have at hand: Node's own request, and the log line being made. */
export interface Env {
  Bindings: HttpBindings;
  Variables: {
    /** Filled in on the way; written before the answer leaves. */
    entry: RequestLogEntry;
    /** What a fault sends in place of the answer. */
    sending?: Sending;
  };
}

/** The context of one request. */
export type RequestContext = Context<Env>;

/** Everything the routes work on. */
export interface SandboxContext {
  readonly settings: Settings;
  readonly store: Store;
  readonly blobs: Blobs;
  /** Aborted when the server ends: nothing is waited for any longer. */
  readonly closing: AbortSignal;
}
