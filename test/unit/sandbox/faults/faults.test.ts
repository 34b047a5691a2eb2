import { describe, expect, test } from "vitest";
import { FAULTS } from "../../../../src/sandbox/faults/catalogue.ts";
import type { RequestLogEntry, Sandbox } from "../../../../src/sandbox/server.ts";
import { FaultRulesSchema, startSandbox } from "../../../../src/sandbox/server.ts";
import { attach, cases, clock, credentials, key } from "./cases.ts";
import { type RawRequest, sendRaw } from "./raw-client.ts";

/** A sandbox with one rule that logs to `requests`. */
async function startFaulty(rule: object, requests: RequestLogEntry[] = []): Promise<Sandbox> {
  const faults = FaultRulesSchema.parse({ rules: [rule] });
  return startSandbox({ key, faults, now: () => clock, log: (entry) => requests.push(entry) });
}

describe("faults on the wire", () => {
  test("are all in the table", () => {
    expect(new Set(cases.map(([fault]) => fault))).toEqual(new Set(Object.keys(FAULTS)));
  });

  test.each(cases)("include %s, which is as specified: %s", async (fault, _name, rule, expected) => {
    const { request = attach, end, status, head, body, attached } = expected;
    const requests: RequestLogEntry[] = [];
    const sandbox = await startFaulty({ fault, ...rule }, requests);
    try {
      const received = await sendRaw(sandbox.port, { key, ...request });
      expect(received.end).toBe(end ?? "closed");
      if (status !== undefined) expect(received.head).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
      else if (head === undefined) expect(received.text).toBe("");
      if (head !== undefined) expect(received.text).toMatch(head);
      if (typeof body === "function") body(received.body);
      else if (body !== undefined) expect(received.body).toMatch(body);
      expect(sandbox.state().attachments).toHaveLength(attached === true ? 1 : 0);
      expect(requests).toMatchObject([{ status: status ?? null, fault: { rule: 1, name: fault } }]);
    } finally {
      await sandbox.close();
    }
  });
});

describe("request log", () => {
  const logOf = async (rule: object, ...sent: readonly Omit<RawRequest, "key">[]) => {
    const requests: RequestLogEntry[] = [];
    const sandbox = await startFaulty(rule, requests);
    for (const request of sent) await sendRaw(sandbox.port, { key, ...request });
    await sandbox.close();
    return requests;
  };

  test("has the fault, and the status without it", async () => {
    const log = await logOf({ fault: "reset", effect: "before" }, attach, attach);
    expect(log).toMatchObject([
      { status: null, body: attach.body, fault: { rule: 1, name: "reset", effect: "before", answered: 201 } },
      { status: 409, body: attach.body },
    ]);
    expect(log[1]).not.toHaveProperty("fault");
  });

  test("has the body of a request that was not processed", async () => {
    expect(await logOf({ fault: "reset" }, attach)).toMatchObject([
      { body: attach.body, fault: { effect: "none", answered: null } },
    ]);
  });

  test("has no fault that does not apply to the response", async () => {
    const [entry] = await logOf({ fault: "no-id" }, { method: "GET", path: "/api/uploads/none" });
    expect(entry).toMatchObject({ status: 404 });
    expect(entry).not.toHaveProperty("fault");
  });
});

describe("an effect after the fault", () => {
  test.each([
    { fault: "reset", end: "reset", text: /^$/ },
    { fault: "accepted", end: "closed", text: /^HTTP\/1.1 202 .*"meta"/s },
  ])("processes the request after the connection has ended: $fault", async ({ fault, end, text }) => {
    const sandbox = await startFaulty({ fault, effect: "after", late: "400ms" });
    const received = await sendRaw(sandbox.port, { key, ...attach });
    expect(received.end).toBe(end);
    expect(received.text).toMatch(text);
    expect(sandbox.state().attachments).toEqual([]);
    await expect.poll(() => sandbox.state().attachments, { timeout: 10_000 }).toMatchObject([{ fileId: 7 }]);
    await sandbox.close();
  });

  test("is dropped when the sandbox closes", async () => {
    const sandbox = await startFaulty({ fault: "reset", effect: "after", late: "10m" });
    await sendRaw(sandbox.port, { key, ...attach });
    await expect(sandbox.close()).resolves.toBeUndefined();
  });
});

describe("a fault of object storage", () => {
  const put = { method: "PUT", path: "/draftsync-sandbox/uploads/x", body: "bytes" };

  test.each([
    { fault: "reset", end: "reset", text: /^$/, rule: {} },
    {
      fault: "status",
      end: "closed",
      text: /^HTTP\/1.1 503 .*<Code>SlowDown<\/Code>/s,
      rule: { status: 503 },
    },
  ])("is sent, and calls of the service do not count: $fault", async ({ fault, end, text, rule }) => {
    const requests: RequestLogEntry[] = [];
    const sandbox = await startFaulty({ fault, when: { side: "storage" }, ...rule }, requests);
    const bucket = JSON.parse((await sendRaw(sandbox.port, { key, ...credentials })).body).data.attributes
      .bucket;
    const received = await sendRaw(sandbox.port, { key, ...put, path: `/${bucket}/x` });
    await sandbox.close();
    expect(received.end).toBe(end);
    expect(received.text).toMatch(text);
    expect(requests.map(({ side, fault: got }) => [side, got?.name])).toEqual([
      ["service", undefined],
      ["storage", fault],
    ]);
  });
});

test("applies the rate limit before faults", async () => {
  const faults = FaultRulesSchema.parse({ rules: [{ fault: "reset", times: "always" }] });
  const sandbox = await startSandbox({ key, faults, rate: { limit: 1, windowMs: 60_000 } });
  const ends = [
    await sendRaw(sandbox.port, { key, ...attach }),
    await sendRaw(sandbox.port, { key, ...attach }),
  ];
  await sandbox.close();
  expect(ends.map(({ end, head }) => [end, head.slice(0, 12)])).toEqual([
    ["reset", ""],
    ["closed", "HTTP/1.1 429"],
  ]);
});
