import { onTestFinished } from "vitest";
import type { Event } from "../../../../src/model/event.ts";
import type { WriteOptions } from "../../../../src/model/ports.ts";
import { systemClock } from "../../../../src/model/ports.ts";
import type { FileTarget } from "../../../../src/model/resource.ts";
import type { Service } from "../../../../src/service/open-service.ts";
import { assembleService } from "../../../../src/service/open-service.ts";
import type { ServiceOptions } from "../../../../src/service/options.ts";
import { serviceProfileSchema } from "../../../../src/service/profile.ts";
import type { RawServer, RecordedRequest, Reply } from "./raw-server.ts";
import { startRawServer } from "./raw-server.ts";

/** A client of a raw server, and its events. */
export interface Harness {
  readonly service: Service;
  readonly server: RawServer;
  readonly events: readonly Event[];
}

/** The key of every service under test. */
export const apiKey = "canary-Zm9v/key+1";

/** Closes a resource after the test, in reverse order. */
export function closeAfterTest(close: () => Promise<void>): void {
  onTestFinished(close);
}

/** Options that differ from the usual ones. */
export type Overrides = Partial<Omit<ServiceOptions, "profile">> & {
  readonly profile?: unknown;
  /** The service has not returned a document yet, so a read precedes the first publish. */
  readonly isUnknown?: true;
};

/** Options as of a config, with a high rate; `profile` is written as in YAML. */
export function optionsFor(baseUrl: string, overrides: Overrides = {}): ServiceOptions {
  const { profile = {}, isUnknown: _isUnknown, ...rest } = overrides;
  return {
    baseUrl,
    apiKey,
    rate: { limit: 1000, windowMs: 1000 },
    concurrency: 4,
    timeoutMs: 10_000,
    clock: systemClock,
    emit: () => {},
    root: "/",
    ...rest,
    profile: serviceProfileSchema.parse(profile),
  };
}

/** Starts a raw server and a client without backoff; both are closed after the test. */
export async function startHarness(
  reply: (request: RecordedRequest, index: number) => Reply,
  overrides: Overrides & { readonly path?: string } = {},
): Promise<Harness> {
  const { path = "", ...rest } = overrides;
  const server = await startRawServer(reply);
  closeAfterTest(() => server.close());
  const events: Event[] = [];
  const service = openForTest(`${server.url}${path}`, { emit: (event) => void events.push(event), ...rest });
  return { service, server, events };
}

/** A service without backoff, closed after the test. */
export function openForTest(baseUrl: string, overrides: Overrides = {}): Service {
  const hasResponded = overrides.isUnknown !== true;
  const service = assembleService(optionsFor(baseUrl, overrides), { random: () => 0, hasResponded });
  closeAfterTest(() => service.close());
  return service;
}

/** Options of a write that records nothing. */
export function write(overrides: Partial<WriteOptions> = {}): WriteOptions {
  return { beforeSend: async () => {}, signal: new AbortController().signal, ...overrides };
}

/** A signal that is never aborted. */
export function noSignal(): AbortSignal {
  return new AbortController().signal;
}

/** A file of draft 48213. */
export const target: FileTarget = { draftId: 48213, kind: "product_files", fileId: 9900011 };

/** The document of an attached file. */
export function fileDocument(attributes: object = { file_format: "fbx" }, type = "product_file") {
  return { data: { type, id: "77", attributes } };
}

/** The document of a product. */
export function productDocument(id: unknown = "771200") {
  return { data: { type: "product", id, attributes: { name: "Dragon" } } };
}

/** The resource of an upload. */
export function uploadResource(id: string, status: string, fileId?: number) {
  return {
    type: "upload",
    id,
    attributes: { upload_key: `in/${id}`, status, ...(fileId === undefined ? {} : { file_id: fileId }) },
  };
}

/** A promise that the test resolves. */
export function makeLatch() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

/** Milliseconds between the first two requests. */
export function firstGapMs({ requests }: RawServer): number {
  const [first, second] = requests.map(({ at }) => at);
  return (second ?? 0) - (first ?? 0);
}
