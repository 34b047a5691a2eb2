import { randomBytes } from "node:crypto";
import type { CallResult } from "../../model/outcome.ts";
import type { ReadOptions, WriteOptions } from "../../model/ports.ts";
import type { Attributes, FileTarget } from "../../model/resource.ts";
import type { Call } from "../calls.ts";
import { collectionPath } from "../calls.ts";
import { updateDocument } from "../documents.ts";
import type { Exchange } from "../exchange-handler.ts";
import { atStart, openExecutor } from "../open-executor.ts";
import type { ServiceOptions } from "../options.ts";
import { serviceProfileSchema } from "../profile.ts";
import { acceptedVersion } from "../transport.ts";
import { judgeAnswerer } from "./judge-answerer.ts";
import type { Look } from "./look.ts";
import { isAnswer, isBeside, makeLook } from "./look.ts";
import type { ProbeMethod, ProbeStep } from "./probe-steps.ts";
import { readProbed } from "./probe-steps.ts";
import type { SeenTls } from "./tls-watch.ts";
import { watchTls } from "./tls-watch.ts";

/** What the reading calls have shown. A call that was not made is absent. */
export interface Looks {
  readonly product: Look;
  /** An upload that there cannot be. */
  readonly upload?: Look;
  /** The list of that upload alone. */
  readonly uploads?: Look;
  /** With a version of the interface that there cannot be. */
  readonly otherVersion?: Look;
  /** With one more parameter in `Accept`. */
  readonly moreAccept?: Look;
  /** With a key that nobody has. */
  readonly wrongKey?: Look;
  readonly tls: SeenTls | undefined;
  /** The query parameter of {@link uploads}. */
  readonly parameter: string;
}

/** Calls that {@link Examiner.look} makes at most; none is sent twice. */
export const mostLooks = 6;

/** Looks at a service by calls, one after another, each within the rate bound. */
export interface Examiner {
  /** Calls that read. What an answer makes pointless is left out. Never rejects. */
  look(signal: AbortSignal): Promise<Looks>;
  /** An update that names no attribute. Rejects only when `beforeSend` does; then nothing was sent. */
  probe(target: FileTarget, method: ProbeMethod, write: WriteOptions): Promise<ProbeEnd>;
  /** Requests dispatched so far. */
  callCount(): number;
  close(): Promise<void>;
}

/** How a probe ended: for the ledger, and for whoever judges it. */
export interface ProbeEnd {
  readonly result: CallResult<Attributes>;
  readonly step: ProbeStep;
}

/** Opens an examiner; nothing is sent yet. Throws as `openService` does. */
export function openExaminer(options: ServiceOptions): Examiner {
  const calls = openExecutor(options, atStart);
  const { executor, redactor } = calls;
  const { profile, clock } = options;
  const watch = watchTls(calls.baseUrl.hostname.replace(/^\[|\]$/g, ""));

  async function send<T>(call: Call<T>, how: { readonly once: boolean } & (WriteOptions | ReadOptions)) {
    let exchange: { ended: Exchange; ms: number } | undefined;
    const onExchange = (ended: Exchange, ms: number) => {
      exchange = { ended, ms };
    };
    const result = await executor.execute(call, { ...how, onExchange });
    const request = `${call.method} ${call.path}`;
    return { result, look: makeLook({ request, exchange, result, redactor, at: clock.now() }) };
  }

  const get = async (path: string, signal: AbortSignal, headers: Call<unknown>["headers"] = {}) =>
    (await send(lookCall(path, headers), { signal, once: true })).look;

  return {
    async look(signal) {
      const parameter = profile.uploads_query ?? serviceProfileSchema.parse({}).uploads_query ?? "";
      const uploadId = `draftsync-doctor-${randomBytes(6).toString("hex")}`;
      const productPath = "/api/products/1";
      const product = await get(productPath, signal);
      const looks = () => ({ product, parameter, tls: watch.seen() });
      if (!isWorthMore(product, calls.baseUrl)) return looks();
      const upload = await get(`/api/uploads/${uploadId}`, signal);
      const listPath = `/api/uploads?${encodeURIComponent(parameter)}=${uploadId}`;
      const uploads = await get(listPath, signal);
      const read = { ...looks(), upload, uploads };
      // An answer that is no refusal by itself tells most about what else is refused.
      const path = isSuccess(uploads) ? listPath : productPath;
      const otherVersion = await get(path, signal, { accept: acceptedVersion.replace(/\d+$/, "999999") });
      const moreAccept = await get(path, signal, { accept: `${acceptedVersion}; charset=utf-8` });
      // Made up, so that it is nobody's: one refusal more than there was, and no account that could be locked by it.
      const apiKey = `draftsync-doctor-no-key-${randomBytes(6).toString("hex")}`;
      const wrongKey = await get(path, signal, { apiKey });
      return { ...read, otherVersion, moreAccept, wrongKey };
    },
    async probe(target, method, write) {
      const call: Call<Attributes> = {
        method,
        path: `${collectionPath(target)}/${target.fileId}`,
        callClass: "update",
        body: updateDocument(target, {}, profile.types),
        read: (document) => readProbed(document, target.kind),
        whenEmpty: { value: {} },
      };
      const { result, look } = await send(call, { ...write, once: false });
      return { result, step: { method, look } };
    },
    callCount: () => executor.callCount,
    async close() {
      watch.stop();
      await calls.close();
    },
  };
}

/** A call whose answer is looked at, whatever it says. */
function lookCall(path: string, headers: NonNullable<Call<unknown>["headers"]>): Call<undefined> {
  return {
    method: "GET",
    path,
    callClass: "read",
    read: () => ({ type: "valid", value: undefined }),
    headers,
  };
}

function isSuccess(look: Look): boolean {
  return isAnswer(look) && look.status < 300;
}

/** Whether the first answer leaves anything to ask: it is the service's, and the key and the version are taken. */
function isWorthMore(look: Look, baseUrl: URL): boolean {
  if (!isAnswer(look) || look.status === 401 || look.status === 406) return false;
  if (isBeside(look)) return look.status < 500 || look.body.type === "json";
  return judgeAnswerer(look, baseUrl.href).status !== "failed";
}
