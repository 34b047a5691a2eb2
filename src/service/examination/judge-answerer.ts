import type { Check, Finding } from "../../model/examination.ts";
import { makeCheck, withSetting } from "../../model/examination.ts";
import { isLoopback } from "../connections.ts";
import type { AnswerLook } from "./look.ts";

/** Judges by one answer what it is that answers: the check of the address. Pure. */
export function judgeAnswerer({ status, body, header, request }: AnswerLook, baseUrl: string): Check {
  if (status >= 300 && status < 400) return judgeRedirect(status, header("location") ?? "", baseUrl);
  const failed = (found: Finding) => makeCheck("address", "failed", found);
  if (body.type === "text" && body.html) {
    return failed({ code: "address-web-page", facts: { status, excerpt: body.excerpt } });
  }
  if (body.type === "text" || body.type === "unreadable") {
    const detail = body.type === "text" ? body.excerpt : body.problem;
    return failed({ code: "address-not-interface", facts: { status, detail } });
  }
  const document = body.type === "json" ? body.document : undefined;
  if (status < 300 && !isDocument(document)) {
    const detail = document === undefined ? "nothing" : JSON.stringify(document).slice(0, 200);
    return failed({ code: "address-not-interface", facts: { status, detail } });
  }
  const mediaType = header("content-type") ?? "no media type";
  return makeCheck("address", "ok", { code: "address-answers", facts: { request, status, mediaType } });
}

/** A setting is proposed only where the key would go to the same host: another one is for a person to trust. */
function judgeRedirect(status: number, to: string, baseUrl: string): Check {
  const check = makeCheck("address", "failed", { code: "address-redirects", facts: { status, to } });
  if (!URL.canParse(to, baseUrl)) return check;
  const { origin, hostname, protocol, pathname } = new URL(to, baseUrl);
  const usual = protocol === "https:" || isLoopback(hostname);
  const moved = /^(.*)\/api\/products\/1\/?$/.exec(pathname)?.[1];
  if (!usual || hostname !== new URL(baseUrl).hostname || moved === undefined) return check;
  return withSetting(check, ["base_url"], `${origin}${moved}`);
}

/** A document of JSON:API has one of these at its top. */
function isDocument(document: unknown): boolean {
  return typeof document === "object" && document !== null && ("data" in document || "errors" in document);
}
