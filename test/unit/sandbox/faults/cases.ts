import { gunzipSync } from "node:zlib";
import { expect } from "vitest";
import type { RawRequest, Received } from "./raw-client.ts";

/** The key of the sandboxes of these tests. */
export const key = "canary-key-5d10";
/** Their clock. */
export const clock = Date.UTC(2026, 0, 5, 12, 0, 0, 400);

/** Attaches file 7. */
export const attach = {
  method: "POST",
  path: "/api/drafts/5/product_files",
  body: { data: { type: "product_file", attributes: { file_id: 7, file_format: "fbx" } } },
};
/** Asks for storage credentials. */
export const credentials = { method: "POST", path: "/api/uploads/credentials" };
const whole = '"type":"product_file","id":"7"';

/** A fault, and what a raw client receives. */
export interface Case {
  readonly fault: string;
  readonly name: string;
  /** The rest of the rule. */
  readonly rule?: object;
  readonly request?: Omit<RawRequest, "key">;
  readonly end?: Received["end"];
  /** The status; without status and head, no byte arrives. */
  readonly status?: number;
  readonly head?: RegExp;
  readonly body?: RegExp | ((body: string) => void);
  /** Whether the file is attached afterwards. */
  readonly attached: boolean;
}

/** Every fault, with each effect that a client can distinguish. */
export const cases: readonly Case[] = [
  { fault: "reset", name: "without processing the request", end: "reset", attached: false },
  {
    fault: "reset",
    name: "after processing the request",
    rule: { effect: "before" },
    end: "reset",
    attached: true,
  },
  { fault: "close", name: "without processing the request", attached: false },
  { fault: "close", name: "after processing the request", rule: { effect: "before" }, attached: true },
  { fault: "stall", name: "sends no headers", rule: { for: "20ms" }, attached: false },
  {
    fault: "stall",
    name: "sends no headers after processing the request",
    rule: { for: "20ms", effect: "before" },
    attached: true,
  },
  {
    fault: "cut-body",
    name: "ends within a body with Content-Length",
    status: 201,
    head: /content-length: \d{3}/i,
    body: (body) => {
      expect(body).toContain(whole.slice(0, 20));
      expect(() => JSON.parse(body)).toThrow();
    },
    attached: true,
  },
  {
    fault: "cut-chunks",
    name: "ends before the last chunk",
    status: 201,
    head: /transfer-encoding: chunked/i,
    body: (body) => {
      expect(body).toMatch(/^[0-9a-f]+\r\n\{"data"/);
      expect(body).not.toContain("\r\n0\r\n");
    },
    attached: true,
  },
  { fault: "garbage", name: "sends text that is not HTTP", head: /^SIP\/2\.0 999 \0\xff/, attached: false },
  {
    fault: "huge-body",
    name: "announces 2 GiB",
    request: { ...attach, until: whole },
    status: 201,
    head: /content-length: 2147483648/i,
    end: "stopped",
    attached: true,
  },
  {
    fault: "delay",
    name: "sends the whole response later",
    rule: { for: "20ms" },
    status: 201,
    body: new RegExp(whole),
    attached: true,
  },
  {
    fault: "delay",
    name: "waits before it processes the request",
    rule: { for: "20ms", effect: "after" },
    status: 201,
    attached: true,
  },
  {
    fault: "status",
    name: "returns 503 with Retry-After",
    rule: { status: 503, for: "3s" },
    status: 503,
    head: /retry-after: 3/i,
    body: /"status":"503"/,
    attached: false,
  },
  {
    fault: "status",
    name: "returns 503 after processing the request",
    rule: { status: 503, effect: "before" },
    status: 503,
    attached: true,
  },
  {
    fault: "status",
    name: "returns 401",
    rule: { status: 401 },
    status: 401,
    head: /www-authenticate: Token/i,
    attached: false,
  },
  { fault: "status", name: "returns 415", rule: { status: 415 }, status: 415, attached: false },
  { fault: "status", name: "returns 406", rule: { status: 406 }, status: 406, attached: false },
  {
    fault: "throttle",
    name: "asks to wait in seconds",
    rule: { for: "2s" },
    status: 429,
    head: /retry-after: 2\r/i,
    attached: false,
  },
  {
    fault: "throttle",
    name: "asks to wait until a date",
    rule: { for: "2s", as: "date" },
    status: 429,
    head: /retry-after: Mon, 05 Jan 2026 12:00:03 GMT/i,
    attached: false,
  },
  {
    fault: "throttle",
    name: "asks to wait until a past date",
    rule: { as: "past-date" },
    status: 429,
    head: /retry-after: Mon, 05 Jan 2026 11:00:00 GMT/i,
    attached: false,
  },
  {
    fault: "conflict-html",
    name: "returns 409 with a web page",
    status: 409,
    head: /content-type: text\/html/i,
    body: /^<!DOCTYPE html>/,
    attached: false,
  },
  {
    fault: "conflict-html",
    name: "returns 409 after processing the request",
    rule: { effect: "before" },
    status: 409,
    attached: true,
  },
  {
    fault: "invalid",
    name: "points to the last attribute",
    status: 422,
    body: /"pointer":"\/data\/attributes\/file_format"/,
    attached: false,
  },
  {
    fault: "invalid",
    name: "points to the pointer of the rule",
    rule: { pointer: "/data/type" },
    status: 422,
    body: /"pointer":"\/data\/type"/,
    attached: false,
  },
  {
    fault: "redirect",
    name: "redirects to a different host",
    status: 307,
    head: /location: http:\/\/localhost:\d+\/api\/drafts\/5\/product_files\r/i,
    attached: false,
  },
  {
    fault: "redirect",
    name: "redirects to the address of the rule",
    rule: { to: "https://elsewhere.example/x" },
    status: 307,
    head: /location: https:\/\/elsewhere\.example\/x\r/i,
    attached: false,
  },
  {
    fault: "echo-key",
    name: "returns the key in the detail",
    status: 400,
    body: new RegExp(`Token ${key}`),
    attached: false,
  },
  {
    fault: "escape-text",
    name: "returns escape sequences",
    status: 422,
    body: (body) => {
      const { detail } = JSON.parse(Buffer.from(body, "latin1").toString()).errors[0];
      for (const active of ["\u001b]0;title\u0007", "\u001b[2J", "\r", "\u202e", "\n::error::", "\u009b1A"]) {
        expect(detail).toContain(active);
      }
    },
    attached: false,
  },
  {
    fault: "compressed",
    name: "compresses without Accept-Encoding",
    status: 201,
    head: /content-encoding: gzip/i,
    body: (body) => expect(gunzipSync(Buffer.from(body, "latin1")).toString()).toContain(whole),
    attached: true,
  },
  {
    fault: "media-type",
    name: "adds parameters to the media type",
    status: 201,
    head: /content-type: application\/vnd\.api\+json; charset=utf-8; profile="a;b"/i,
    body: new RegExp(whole),
    attached: true,
  },
  {
    fault: "data-with-errors",
    name: "returns both",
    status: 201,
    body: /"data":.*"errors":\[/,
    attached: true,
  },
  {
    fault: "no-id",
    name: "returns 201 without id",
    status: 201,
    body: (body) =>
      expect(JSON.parse(body).data).toEqual({ type: "product_file", attributes: expect.anything() }),
    attached: true,
  },
  {
    fault: "other-type",
    name: "returns 201 with a different type",
    status: 201,
    body: /^\{"data":\{"type":"thing",.*"id":"7"/,
    attached: true,
  },
  {
    fault: "big-id",
    name: "returns an id above 2^53",
    status: 201,
    body: /"id":9007199254740993[,}]/,
    attached: true,
  },
  { fault: "no-content", name: "returns 204 for POST", status: 204, body: /^$/, attached: true },
  {
    fault: "accepted",
    name: "returns 202 after processing the request",
    status: 202,
    body: new RegExp(whole),
    attached: true,
  },
  {
    fault: "accepted",
    name: "returns 202 and never processes the request",
    rule: { effect: "none" },
    status: 202,
    body: /^\{"meta":\{\}\}$/,
    attached: false,
  },
  {
    fault: "foreign-endpoint",
    name: "returns a foreign endpoint in credentials",
    rule: { to: "https://storage.example" },
    request: credentials,
    status: 201,
    body: /"endpoint":"https:\/\/storage\.example"/,
    attached: false,
  },
];
