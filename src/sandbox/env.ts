import type { HttpBindings } from "@hono/node-server";
import type { Context } from "hono";
import type { Sending } from "./faults/catalogue.ts";
import type { Settings } from "./options.ts";
import type { RequestLogEntry } from "./request-log.ts";
import type { Blobs } from "./storage/blobs.ts";
import type { Store } from "./store.ts";

/** What handlers can use: Node's own request, and the log entry. */
export interface Env {
  Bindings: HttpBindings;
  Variables: {
    /** Filled in by handlers; written before the response is sent. */
    entry: RequestLogEntry;
    /** What a fault sends instead of the response. */
    sending?: Sending;
  };
}

/** The context of one request. */
export type RequestContext = Context<Env>;

/** One account of a running sandbox. */
export interface SandboxContext {
  readonly settings: Settings;
  readonly store: Store;
  readonly blobs: Blobs;
  /** Aborted when the server closes: it ends every wait. */
  readonly closing: AbortSignal;
}
