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

/** A fault, and what a raw client sees of it. */
export interface Case {
  readonly fault: string;
  readonly name: string;
  /** Beside the fault's name. */
  readonly rule?: object;
  readonly request?: Omit<RawRequest, "key">;
  readonly end?: Received["end"];
  /** What the status line begins with; none: no byte came. */
  readonly status?: number;
  readonly head?: RegExp;
  readonly body?: RegExp | ((body: string) => void);
  /** Whether the file is attached afterwards. */
  readonly attached: boolean;
}

/** Every fault, with each effect that differs on the wire. */
export const cases: readonly Case[] = [
  { fault: "reset", name: "before it is carried out", end: "reset", attached: false },
  {
    fault: "reset",
    name: "after it was carried out",
    rule: { effect: "before" },
    end: "reset",
    attached: true,
  },
  { fault: "close", name: "without a byte", attached: false },
  { fault: "close", name: "when it was carried out", rule: { effect: "before" }, attached: true },
  { fault: "stall", name: "no headers come", rule: { for: "20ms" }, attached: false },
  {
    fault: "stall",
    name: "no headers come of what was done",
    rule: { for: "20ms", effect: "before" },
    attached: true,
  },
  {
    fault: "cut-body",
    name: "ends inside a body with a length",
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
    name: "ends without the last chunk",
    status: 201,
    head: /transfer-encoding: chunked/i,
    body: (body) => {
      expect(body).toMatch(/^[0-9a-f]+\r\n\{"data"/);
      expect(body).not.toContain("\r\n0\r\n");
    },
    attached: true,
  },
  { fault: "garbage", name: "is not HTTP", head: /^SIP\/2\.0 999 \0\xff/, attached: false },
  {
    fault: "huge-body",
    name: "claims 2 GiB",
    request: { ...attach, until: whole },
    status: 201,
    head: /content-length: 2147483648/i,
    end: "deferred",
    attached: true,
  },
  {
    fault: "delay",
    name: "the answer is whole",
    rule: { for: "20ms" },
    status: 201,
    body: new RegExp(whole),
    attached: true,
  },
  {
    fault: "delay",
    name: "before it is carried out",
    rule: { for: "20ms", effect: "after" },
    status: 201,
    attached: true,
  },
  {
    fault: "status",
    name: "503 with a wait",
    rule: { status: 503, for: "3s" },
    status: 503,
    head: /retry-after: 3/i,
    body: /"status":"503"/,
    attached: false,
  },
  {
    fault: "status",
    name: "503 of what was done",
    rule: { status: 503, effect: "before" },
    status: 503,
    attached: true,
  },
  {
    fault: "status",
    name: "401",
    rule: { status: 401 },
    status: 401,
    head: /www-authenticate: Token/i,
    attached: false,
  },
  { fault: "status", name: "415", rule: { status: 415 }, status: 415, attached: false },
  { fault: "status", name: "406", rule: { status: 406 }, status: 406, attached: false },
  {
    fault: "throttle",
    name: "seconds",
    rule: { for: "2s" },
    status: 429,
    head: /retry-after: 2\r/i,
    attached: false,
  },
  {
    fault: "throttle",
    name: "a date",
    rule: { for: "2s", as: "date" },
    status: 429,
    head: /retry-after: Mon, 05 Jan 2026 12:00:03 GMT/i,
    attached: false,
  },
  {
    fault: "throttle",
    name: "a date that is past",
    rule: { as: "past-date" },
    status: 429,
    head: /retry-after: Mon, 05 Jan 2026 11:00:00 GMT/i,
    attached: false,
  },
  {
    fault: "conflict-html",
    name: "a page",
    status: 409,
    head: /content-type: text\/html/i,
    body: /^<!DOCTYPE html>/,
    attached: false,
  },
  {
    fault: "conflict-html",
    name: "a page about what was done",
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
    name: "points where the rule says",
    rule: { pointer: "/data/type" },
    status: 422,
    body: /"pointer":"\/data\/type"/,
    attached: false,
  },
  {
    fault: "redirect",
    name: "to another host",
    status: 307,
    head: /location: http:\/\/localhost:\d+\/api\/drafts\/5\/product_files\r/i,
    attached: false,
  },
  {
    fault: "redirect",
    name: "where the rule says",
    rule: { to: "https://elsewhere.example/x" },
    status: 307,
    head: /location: https:\/\/elsewhere\.example\/x\r/i,
    attached: false,
  },
  {
    fault: "echo-key",
    name: "in the detail",
    status: 400,
    body: new RegExp(`Token ${key}`),
    attached: false,
  },
  {
    fault: "escape-text",
    name: "escapes, once parsed",
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
    name: "gzip that nobody asked for",
    status: 201,
    head: /content-encoding: gzip/i,
    body: (body) => expect(gunzipSync(Buffer.from(body, "latin1")).toString()).toContain(whole),
    attached: true,
  },
  {
    fault: "media-type",
    name: "with parameters",
    status: 201,
    head: /content-type: application\/vnd\.api\+json; charset=utf-8; profile="a;b"/i,
    body: new RegExp(whole),
    attached: true,
  },
  { fault: "data-with-errors", name: "both", status: 201, body: /"data":.*"errors":\[/, attached: true },
  {
    fault: "no-id",
    name: "201 without id",
    status: 201,
    body: (body) =>
      expect(JSON.parse(body).data).toEqual({ type: "product_file", attributes: expect.anything() }),
    attached: true,
  },
  {
    fault: "other-type",
    name: "201 of a different type",
    status: 201,
    body: /^\{"data":\{"type":"thing",.*"id":"7"/,
    attached: true,
  },
  { fault: "big-id", name: "beyond 2^53", status: 201, body: /"id":9007199254740993[,}]/, attached: true },
  { fault: "no-content", name: "204 on POST", status: 204, body: /^$/, attached: true },
  { fault: "accepted", name: "202 of what is done", status: 202, body: new RegExp(whole), attached: true },
  {
    fault: "accepted",
    name: "202 and never done",
    rule: { effect: "none" },
    status: 202,
    body: /^\{"meta":\{\}\}$/,
    attached: false,
  },
  {
    fault: "foreign-endpoint",
    name: "in credentials",
    rule: { to: "https://storage.example" },
    request: credentials,
    status: 201,
    body: /"endpoint":"https:\/\/storage\.example"/,
    attached: false,
  },
];
