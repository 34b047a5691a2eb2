import type { Bound, Check, CheckName, Finding, Obstacle } from "../../model/examination.ts";
import { checkGroups, makeCheck, notChecked, withSetting } from "../../model/examination.ts";
import { isLoopback } from "../connections.ts";
import { countListed } from "../documents.ts";
import { readErrors } from "../json-api.ts";
import type { Looks } from "./examiner.ts";
import { judgeAnswerer } from "./judge-answerer.ts";
import { judgeConnection } from "./judge-connection.ts";
import { judgePace, judgeRate } from "./judge-pace.ts";
import type { AnswerLook, Look } from "./look.ts";
import { isAnswer, isBeside } from "./look.ts";

/** The config's settings that the judgement rests on. */
export interface JudgedSettings {
  readonly baseUrl: string;
  readonly rate: Bound;
  readonly concurrency: number;
  readonly contentType: string;
  /** Wall clock, epoch milliseconds. */
  readonly now: number;
}

/** Judges what the reading calls have shown: each check of the service, in their order. Pure. */
export function judgeLooks(looks: Looks, settings: JudgedSettings): readonly Check[] {
  const answers = allLooks(looks).filter(isAnswer);
  const url = new URL(settings.baseUrl);
  const address = judgeAddress(looks, settings.baseUrl);
  const isService = address.status !== "failed";
  const found = [
    address,
    judgeConnection(looks, {
      now: settings.now,
      plain: url.protocol === "http:" ? (isLoopback(url.hostname) ? "local" : "open") : undefined,
    }),
    judgeKey(looks),
    judgeVersion(looks),
    ...(looks.wrongKey === undefined ? [] : judgeVariants(looks, settings)),
    judgeErrors(answers),
    ...(looks.uploads === undefined ? [] : [judgeUploadsQuery(looks.uploads, looks.parameter)]),
    ...(isService
      ? [judgeRate(answers, settings.rate), judgeClock(answers), judgePace(answers, settings)]
      : []),
  ];
  const byName = new Map(found.flatMap((check) => (check === undefined ? [] : [[check.name, check]])));
  const because: Obstacle = byName.get("key_accepted")?.status === "failed" ? "key_accepted" : "address";
  return checkGroups.service.map((name) => byName.get(name) ?? notChecked(name, because));
}

function allLooks({ product, upload, uploads, otherVersion, moreAccept, wrongKey }: Looks): readonly Look[] {
  return [product, upload, uploads, otherVersion, moreAccept, wrongKey].flatMap((look) => look ?? []);
}

function judgeAddress({ product, upload, uploads }: Looks, baseUrl: string): Check {
  const finding = (status: Check["status"], found: Finding) => makeCheck("address", status, found);
  if (product.type === "failed") {
    return finding("failed", { code: "address-unreachable", facts: { problem: product.problem } });
  }
  const read = [product, upload, uploads].filter(isAnswer);
  const telling = read.find((look) => !isBeside(look));
  if (telling === undefined) {
    return finding("failed", { code: "address-fails", facts: { status: product.status } });
  }
  if (uploads !== undefined && read.every((look) => look.status === 404)) {
    const requests = read.map((look) => look.request);
    return finding("warning", { code: "address-all-missing", facts: { requests } });
  }
  return judgeAnswerer(telling, baseUrl);
}

function judgeKey({ product, upload, uploads, wrongKey }: Looks): Check | undefined {
  const answers = [product, upload, uploads].filter(isAnswer);
  if (product.type === "failed") return undefined;
  const refused = answers.find(({ status }) => status === 401);
  if (refused !== undefined) {
    const problem = refused.problem ?? { code: "unauthorized", message: `${refused.request}: 401` };
    return makeCheck("key_accepted", "failed", { code: "key-refused", facts: { problem } });
  }
  if (uploads === undefined) return undefined;
  const forbidden = answers.find(({ status }) => status === 403);
  if (forbidden?.problem !== undefined && answers.every(({ status }) => status === 403)) {
    const { problem } = forbidden;
    return makeCheck("key_accepted", "failed", { code: "key-forbidden", facts: { problem } });
  }
  const telling = [product, uploads, upload]
    .filter(isAnswer)
    .filter((look) => !isBeside(look) && look.status !== 403);
  const accepted = telling.find(({ status }) => status < 400) ?? telling[0];
  // What a key that nobody has is answered as well is no word about this one.
  const same = isAnswer(wrongKey) && !isBeside(wrongKey) && !isKeyRefused(wrongKey);
  if (accepted === undefined || same) {
    const statuses = answers.map(({ status }) => status);
    return makeCheck("key_accepted", "not_known", { code: "key-untold", facts: { statuses, same } });
  }
  const { request, status } = accepted;
  return makeCheck("key_accepted", "ok", { code: "key-accepted", facts: { request, status } });
}

/** By its key, or by what the key may do. */
function isKeyRefused({ status }: AnswerLook): boolean {
  return status === 401 || status === 403;
}

function judgeVersion({ product, otherVersion }: Looks): Check | undefined {
  if (isAnswer(product) && product.status === 406) {
    const problem = product.problem ?? { code: "version-not-accepted", message: `${product.request}: 406` };
    return makeCheck("version", "failed", { code: "version-refused", facts: { problem } });
  }
  if (otherVersion === undefined) return undefined;
  if (!isAnswer(otherVersion) || isBeside(otherVersion)) {
    return makeCheck("version", "not_known", { code: "version-untold", facts: {} });
  }
  const { status } = otherVersion;
  return status === 406 || status === 400 || status === 415
    ? makeCheck("version", "ok", { code: "version-checked", facts: { status } })
    : makeCheck("version", "warning", { code: "version-unchecked", facts: { status } });
}

/** What the service says to a key that nobody has, and to one more parameter. */
function judgeVariants({ wrongKey, moreAccept }: Looks, { contentType }: JudgedSettings): readonly Check[] {
  return [judgeWrongKey(wrongKey), judgeMediaTypes(moreAccept, contentType)];
}

function judgeWrongKey(look: Look | undefined): Check {
  if (!isAnswer(look) || isBeside(look)) {
    return makeCheck("wrong_key", "not_known", { code: "wrong-key-untold", facts: {} });
  }
  const { status } = look;
  return isKeyRefused(look)
    ? makeCheck("wrong_key", "ok", { code: "wrong-key-refused", facts: { status } })
    : makeCheck("wrong_key", "warning", { code: "wrong-key-taken", facts: { status } });
}

function judgeMediaTypes(look: Look | undefined, contentType: string): Check {
  if (!isAnswer(look) || isBeside(look)) {
    return makeCheck("media_types", "not_known", { code: "media-types-untold", facts: {} });
  }
  const { status } = look;
  const strict = status === 406 || status === 415;
  if (!strict) {
    return makeCheck("media_types", "ok", { code: "media-types-lenient", facts: { status } });
  }
  const [plain = "", ...parameters] = contentType.split(";");
  if (parameters.length === 0) {
    return makeCheck("media_types", "ok", { code: "media-types-strict", facts: { status } });
  }
  const facts = { status, contentType };
  const check = makeCheck("media_types", "warning", { code: "media-types-in-the-way", facts });
  return withSetting(check, ["profile", "content_type"], plain);
}

function judgeErrors(answers: readonly AnswerLook[]): Check | undefined {
  if (answers.length === 0) return undefined;
  const refusals = answers.filter(({ status, body }) => status >= 400 && body.type !== "empty");
  const [first] = [...refusals.filter((look) => !isBeside(look)), ...refusals];
  if (first === undefined) return makeCheck("errors", "not_known", { code: "errors-unseen", facts: {} });
  const { status, body } = first;
  const document = body.type === "json" ? body.document : undefined;
  if (readErrors(document).length === 0) {
    return makeCheck("errors", "warning", { code: "errors-other", facts: { status } });
  }
  const listed =
    typeof document === "object" && document !== null && Array.isArray(Reflect.get(document, "errors"));
  const isProblem = !listed || /problem\+json/.test(first.header("content-type") ?? "");
  return makeCheck("errors", "ok", {
    code: isProblem ? "errors-problem" : "errors-jsonapi",
    facts: { status },
  });
}

const uploadsQueryPath = ["profile", "uploads_query"] as const;

function judgeUploadsQuery(look: Look, parameter: string): Check {
  const name: CheckName = "uploads_query";
  const status = isAnswer(look) ? look.status : undefined;
  const oneByOne = (finding: Finding) =>
    withSetting(makeCheck(name, "warning", finding), uploadsQueryPath, null);
  if (isAnswer(look) && look.status < 300) {
    const count = countListed(look.body.type === "json" ? look.body.document : undefined);
    if (count === 0) {
      const check = makeCheck(name, "ok", { code: "uploads-query-works", facts: { parameter } });
      return withSetting(check, uploadsQueryPath, parameter);
    }
    if (count !== undefined) return oneByOne({ code: "uploads-query-ignored", facts: { parameter, count } });
    return oneByOne({ code: "uploads-query-refused", facts: { parameter, status: look.status } });
  }
  if (status === 400 || status === 405 || status === 422) {
    return oneByOne({ code: "uploads-query-refused", facts: { parameter, status } });
  }
  return makeCheck(name, "not_known", { code: "uploads-query-untold", facts: { parameter, status } });
}

/** A `Date` says no more than whole seconds, and its answer has been on its way. */
const clockToleranceMs = 30_000;

function judgeClock(answers: readonly AnswerLook[]): Check {
  const ahead = answers.flatMap(({ header, at }) => {
    const date = Date.parse(header("date") ?? "");
    return Number.isNaN(date) ? [] : [at - date];
  });
  if (ahead.length === 0) return makeCheck("clock", "not_known", { code: "clock-untold", facts: {} });
  const aheadMs = ahead.reduce((least, each) => (Math.abs(each) < Math.abs(least) ? each : least));
  return Math.abs(aheadMs) <= clockToleranceMs
    ? makeCheck("clock", "ok", { code: "clock-right", facts: { aheadMs } })
    : makeCheck("clock", "warning", { code: "clock-off", facts: { aheadMs } });
}
