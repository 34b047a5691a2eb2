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

/** What a raw client receives. */
interface Expected {
  readonly request?: Omit<RawRequest, "key">;
  readonly end?: Received["end"];
  /** The status; without status and head, no byte arrives. */
  readonly status?: number;
  readonly head?: RegExp;
  readonly body?: RegExp | ((body: string) => void);
  /** Whether the file is attached afterwards; default false. */
  readonly attached?: true;
}

type Case = readonly [fault: string, name: string, rule: object, expected: Expected];

const before = { effect: "before" };

/** Every fault, with each effect that a client can distinguish. */
export const cases: readonly Case[] = [
  ["reset", "without processing the request", {}, { end: "reset" }],
  ["reset", "after processing the request", before, { end: "reset", attached: true }],
  ["close", "without processing the request", {}, {}],
  ["close", "after processing the request", before, { attached: true }],
  ["stall", "sends no headers", { for: "20ms" }, {}],
  ["stall", "sends no headers after processing the request", { for: "20ms", ...before }, { attached: true }],
  [
    "cut-body",
    "ends within a body with Content-Length",
    {},
    {
      status: 201,
      head: /content-length: \d{3}/i,
      body: (body) => {
        expect(body).toContain(whole.slice(0, 20));
        expect(() => JSON.parse(body)).toThrow();
      },
      attached: true,
    },
  ],
  [
    "cut-chunks",
    "ends before the last chunk",
    {},
    {
      status: 201,
      head: /transfer-encoding: chunked/i,
      body: (body) => {
        expect(body).toMatch(/^[0-9a-f]+\r\n\{"data"/);
        expect(body).not.toContain("\r\n0\r\n");
      },
      attached: true,
    },
  ],
  ["garbage", "sends text that is not HTTP", {}, { head: /^SIP\/2\.0 999 \0\xff/ }],
  [
    "huge-body",
    "announces 2 GiB",
    {},
    {
      request: { ...attach, until: whole },
      status: 201,
      head: /content-length: 2147483648/i,
      end: "stopped",
      attached: true,
    },
  ],
  [
    "delay",
    "sends the whole response later",
    { for: "20ms" },
    { status: 201, body: new RegExp(whole), attached: true },
  ],
  [
    "delay",
    "waits before it processes the request",
    { for: "20ms", effect: "after" },
    { status: 201, attached: true },
  ],
  [
    "status",
    "returns 503 with Retry-After",
    { status: 503, for: "3s" },
    { status: 503, head: /retry-after: 3/i, body: /"status":"503"/ },
  ],
  [
    "status",
    "returns 503 after processing the request",
    { status: 503, ...before },
    { status: 503, attached: true },
  ],
  ["status", "returns 401", { status: 401 }, { status: 401, head: /www-authenticate: Token/i }],
  ["status", "returns 415", { status: 415 }, { status: 415 }],
  ["status", "returns 406", { status: 406 }, { status: 406 }],
  ["throttle", "asks to wait in seconds", { for: "2s" }, { status: 429, head: /retry-after: 2\r/i }],
  [
    "throttle",
    "asks to wait until a date",
    { for: "2s", as: "date" },
    { status: 429, head: /retry-after: Mon, 05 Jan 2026 12:00:03 GMT/i },
  ],
  [
    "throttle",
    "asks to wait until a past date",
    { as: "past-date" },
    { status: 429, head: /retry-after: Mon, 05 Jan 2026 11:00:00 GMT/i },
  ],
  [
    "conflict-html",
    "returns 409 with a web page",
    {},
    { status: 409, head: /content-type: text\/html/i, body: /^<!DOCTYPE html>/ },
  ],
  ["conflict-html", "returns 409 after processing the request", before, { status: 409, attached: true }],
  [
    "invalid",
    "points to the last attribute",
    {},
    { status: 422, body: /"pointer":"\/data\/attributes\/file_format"/ },
  ],
  [
    "invalid",
    "points to the pointer of the rule",
    { pointer: "/data/type" },
    { status: 422, body: /"pointer":"\/data\/type"/ },
  ],
  [
    "redirect",
    "redirects to a different host",
    {},
    { status: 307, head: /location: http:\/\/localhost:\d+\/api\/drafts\/5\/product_files\r/i },
  ],
  [
    "redirect",
    "redirects to the address of the rule",
    { to: "https://elsewhere.example/x" },
    { status: 307, head: /location: https:\/\/elsewhere\.example\/x\r/i },
  ],
  ["echo-key", "returns the key in the detail", {}, { status: 400, body: new RegExp(`Token ${key}`) }],
  [
    "escape-text",
    "returns escape sequences",
    {},
    {
      status: 422,
      body: (body) => {
        const { detail } = JSON.parse(Buffer.from(body, "latin1").toString()).errors[0];
        for (const active of ["\u001b]0;title\u0007", "\u001b[2J", "\r", "\u202e", "\n::error::", "\u009b1A"])
          expect(detail).toContain(active);
      },
    },
  ],
  [
    "compressed",
    "compresses without Accept-Encoding",
    {},
    {
      status: 201,
      head: /content-encoding: gzip/i,
      body: (body) => expect(gunzipSync(Buffer.from(body, "latin1")).toString()).toContain(whole),
      attached: true,
    },
  ],
  [
    "media-type",
    "adds parameters to the media type",
    {},
    {
      status: 201,
      head: /content-type: application\/vnd\.api\+json; charset=utf-8; profile="a;b"/i,
      body: new RegExp(whole),
      attached: true,
    },
  ],
  ["data-with-errors", "returns both", {}, { status: 201, body: /"data":.*"errors":\[/, attached: true }],
  [
    "no-id",
    "returns 201 without id",
    {},
    {
      status: 201,
      body: (body) =>
        expect(JSON.parse(body).data).toEqual({ type: "product_file", attributes: expect.anything() }),
      attached: true,
    },
  ],
  [
    "other-type",
    "returns 201 with a different type",
    {},
    { status: 201, body: /^\{"data":\{"type":"thing",.*"id":"7"/, attached: true },
  ],
  [
    "big-id",
    "returns an id above 2^53",
    {},
    { status: 201, body: /"id":9007199254740993[,}]/, attached: true },
  ],
  ["no-content", "returns 204 for POST", {}, { status: 204, body: /^$/, attached: true }],
  [
    "accepted",
    "returns 202 after processing the request",
    {},
    { status: 202, body: new RegExp(whole), attached: true },
  ],
  [
    "accepted",
    "returns 202 and never processes the request",
    { effect: "none" },
    { status: 202, body: /^\{"meta":\{\}\}$/ },
  ],
  [
    "foreign-endpoint",
    "returns a foreign endpoint in credentials",
    { to: "https://storage.example" },
    { request: credentials, status: 201, body: /"endpoint":"https:\/\/storage\.example"/ },
  ],
];
