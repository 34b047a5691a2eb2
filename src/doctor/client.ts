import { randomBytes } from "node:crypto";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { TLSSocket } from "node:tls";
import { z } from "zod";
import { systemCodeOf } from "../model/errors.ts";
import type { CallResult } from "../model/outcome.ts";
import type { ReadOptions, WriteOptions } from "../model/ports.ts";
import type { Attributes, FileKind, FileTarget } from "../model/resource.ts";
import { fileResource, withoutEmpty } from "../model/resource.ts";
import type { Call } from "../service/calls.ts";
import type { Parsed } from "../service/documents.ts";
import { readProbedFile, readResource, updateDocument } from "../service/documents.ts";
import type { Exchange } from "../service/exchange-handler.ts";
import { atStart, openExecutor } from "../service/open-service.ts";
import type { ServiceOptions } from "../service/options.ts";
import { serviceProfileSchema } from "../service/profile.ts";
import { readResponseBody } from "../service/response-body.ts";
import { acceptedVersion } from "../service/transport.ts";
import type { Probe, ProbedFile, ProbeMethod, Sample, Samples, TlsSample } from "./check.ts";
import { isResponse, isTransient } from "./check.ts";
import { checkResponse } from "./check-service.ts";

/** Collects samples of a service, one call after another, within the rate limit. */
export interface DoctorClient {
  /** Sends the read calls, without those that an earlier response makes pointless. Never rejects. */
  sample(signal: AbortSignal): Promise<Samples>;
  /** Sends an update without attributes. Rejects only if `beforeSend` does; then nothing was sent. */
  probe(target: FileTarget, method: ProbeMethod, write: WriteOptions): Promise<ProbeResult>;
  /** Requests dispatched so far. */
  callCount(): number;
  close(): Promise<void>;
}

/** A probe, and its result for the ledger. */
export interface ProbeResult {
  readonly result: CallResult<Attributes>;
  readonly probe: Probe;
}

/** Opens a client; nothing is sent yet. Throws as `openService` does. */
export function openDoctorClient(options: ServiceOptions): DoctorClient {
  const calls = openExecutor(options, atStart);
  const { executor, redactor } = calls;
  const { profile, clock } = options;
  const tls = watchTls(calls.baseUrl.hostname.replace(/^\[|\]$/g, ""));

  async function send<T>(call: Call<T>, how: { readonly once: boolean } & (WriteOptions | ReadOptions)) {
    let last: { readonly exchange: Exchange; readonly ms: number } | undefined;
    const onExchange = (exchange: Exchange, ms: number) => {
      last = { exchange, ms };
    };
    const result = await executor.execute(call, { ...how, onExchange });
    const request = `${call.method} ${call.path}`;
    const problem = result.outcome === "done" ? undefined : pickProblem(result.failure);
    if (last?.exchange.type !== "answer") {
      const missing = { code: "no-response", message: `${request}: the service did not respond` };
      const systemCode = systemCodeOf(last?.exchange.error);
      return {
        result,
        sample: { type: "failed", request, problem: problem ?? missing, systemCode } as const,
      };
    }
    const { answer: response } = last.exchange;
    const header = (name: string) => {
      const value = response.header(name);
      return value === undefined ? undefined : redactor.text(value);
    };
    const { status } = response;
    const body = readResponseBody(response, redactor);
    const at = clock.now();
    return {
      result,
      sample: { type: "response", request, status, header, body, ms: last.ms, at, problem } as const,
    };
  }

  const get = async (path: string, signal: AbortSignal, headers: Call<unknown>["headers"] = {}) => {
    const read = () => ({ type: "valid", value: undefined }) as const;
    const call: Call<undefined> = { method: "GET", path, callClass: "read", read, headers };
    return (await send(call, { signal, once: true })).sample;
  };

  return {
    async sample(signal) {
      const parameter = profile.uploads_query ?? serviceProfileSchema.parse({}).uploads_query ?? "";
      const uploadId = `draftsync-doctor-${randomBytes(6).toString("hex")}`;
      const productPath = "/api/products/1";
      const product = await get(productPath, signal);
      if (!isConclusiveStart(product, calls.baseUrl)) return { product, parameter, tls: tls.sample() };
      const upload = await get(`/api/uploads/${uploadId}`, signal);
      const listPath = `/api/uploads?${encodeURIComponent(parameter)}=${uploadId}`;
      const uploads = await get(listPath, signal);
      // A refusal stands out most against a request that succeeds.
      const path = isResponse(uploads) && uploads.status < 300 ? listPath : productPath;
      const otherVersion = await get(path, signal, { accept: acceptedVersion.replace(/\d+$/, "999999") });
      const moreAccept = await get(path, signal, { accept: `${acceptedVersion}; charset=utf-8` });
      // A random key belongs to no account, so the refusal can lock none.
      const apiKey = `draftsync-doctor-no-key-${randomBytes(6).toString("hex")}`;
      const wrongKey = await get(path, signal, { apiKey });
      return { product, upload, uploads, otherVersion, moreAccept, wrongKey, parameter, tls: tls.sample() };
    },
    async probe(target, method, write) {
      const call: Call<Attributes> = {
        method,
        path: `/api/${fileResource(target)}`,
        callClass: "update",
        body: updateDocument(target, {}, profile.types),
        read: (document) => readAttributes(document, target.kind),
        whenEmpty: { value: {} },
      };
      const { result, sample } = await send(call, { ...write, once: false });
      return { result, probe: { method, sample, file: readProbed(sample, target.kind) } };
    },
    callCount: () => executor.callCount,
    async close() {
      tls.stop();
      await calls.close();
    },
  };
}

function pickProblem({ code, message, hint }: { code: string; message: string; hint?: string | undefined }) {
  return { code, message, hint };
}

/** Whether more calls make sense: the service responded, and it accepts the key and the version. */
function isConclusiveStart(sample: Sample, baseUrl: URL): boolean {
  if (!isResponse(sample) || sample.status === 401 || sample.status === 406) return false;
  if (isTransient(sample)) return sample.status < 500 || sample.body.type === "json";
  return checkResponse(sample, baseUrl.href).status !== "failed";
}

const typeSchema = z.object({ data: z.object({ type: z.string() }) });
const otherTypes = { upload: "", upload_credential: "", product: "", draft: "" };

/** Reads the attributes of a file of any `data.type`. */
function readAttributes(document: unknown, kind: FileKind): Parsed<Attributes> {
  const type = typeSchema.safeParse(document).data?.data.type ?? "";
  return readProbedFile(document, { kind }, { ...otherTypes, product_file: type, promotional_file: type });
}

function readProbed(sample: Sample, kind: FileKind): ProbedFile | undefined {
  if (!isResponse(sample) || sample.status !== 200 || sample.body.type !== "json") return undefined;
  const { document } = sample.body;
  const type = typeSchema.safeParse(document).data?.data.type ?? "";
  const resource = readResource(document, type);
  const parsed = readAttributes(document, kind);
  if (resource.type === "malformed" || !("value" in parsed)) return undefined;
  return { type, id: resource.value.id, attributes: withoutEmpty(parsed.value ?? {}) };
}

/** The channel on which undici reports every connection, also through a proxy. */
const channel = "undici:client:connected";

const connectedSchema = z.object({
  connectParams: z.object({ hostname: z.string() }),
  socket: z.instanceof(TLSSocket),
});

/** Samples the first TLS connection of this process to a host name (without brackets). */
function watchTls(host: string): { sample(): TlsSample | undefined; stop(): void } {
  let first: TlsSample | undefined;
  const onConnected = (message: unknown): void => {
    const { data } = connectedSchema.safeParse(message);
    if (first === undefined && data?.connectParams.hostname === host) first = sampleTls(data.socket);
  };
  subscribe(channel, onConnected);
  return { sample: () => first, stop: () => void unsubscribe(channel, onConnected) };
}

function sampleTls(socket: TLSSocket): TlsSample {
  const { subject, issuer, valid_to: validTo } = socket.getPeerCertificate();
  const expiresAt = Date.parse(validTo);
  return {
    protocol: socket.getProtocol() ?? "TLS",
    subject: nameOf(subject),
    issuer: nameOf(issuer),
    expiresAt,
  };
}

type DistinguishedName = Readonly<Partial<Record<"CN" | "O", string | string[] | undefined>>>;

function nameOf(name: DistinguishedName | undefined): string {
  return [name?.CN ?? name?.O ?? "unknown"].flat().join(", ");
}
