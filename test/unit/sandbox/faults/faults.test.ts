import { describe, expect, test } from "vitest";
import { FAULTS } from "../../../../src/sandbox/faults/catalogue.ts";
import type { RequestLogEntry, Sandbox } from "../../../../src/sandbox/server.ts";
import { FaultRulesSchema, startSandbox } from "../../../../src/sandbox/server.ts";
import { attach, cases, clock, credentials, key } from "./cases.ts";
import { sendRaw } from "./raw-client.ts";

/** A sandbox with one rule; `arrivals` is its log. */
async function startFaulty(rule: object, arrivals: RequestLogEntry[] = []): Promise<Sandbox> {
  const faults = FaultRulesSchema.parse({ rules: [rule] });
  return startSandbox({ key, faults, now: () => clock, log: (arrival) => arrivals.push(arrival) });
}

describe("each fault, on the wire", () => {
  test("is in the table", () => {
    expect(new Set(cases.map(({ fault }) => fault))).toEqual(new Set(Object.keys(FAULTS)));
  });

  test.each(cases)(
    "$fault: $name",
    async ({ fault, rule, request = attach, end, status, head, body, attached }) => {
      const arrivals: RequestLogEntry[] = [];
      const sandbox = await startFaulty({ fault, ...rule }, arrivals);
      try {
        const received = await sendRaw(sandbox.port, { key, ...request });
        expect(received.end).toBe(end ?? "closed");
        if (status !== undefined) expect(received.head).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
        else if (head === undefined) expect(received.text).toBe("");
        if (head !== undefined) expect(received.text).toMatch(head);
        if (typeof body === "function") body(received.body);
        else if (body !== undefined) expect(received.body).toMatch(body);
        expect(sandbox.state().attachments).toHaveLength(attached ? 1 : 0);
        expect(arrivals).toMatchObject([{ status: status ?? null, fault: { rule: 1, name: fault } }]);
      } finally {
        await sandbox.close();
      }
    },
  );
});

describe("the log", () => {
  test("reports the fault, and what was answered without it", async () => {
    const arrivals: RequestLogEntry[] = [];
    const sandbox = await startFaulty({ fault: "reset", effect: "before" }, arrivals);
    await sendRaw(sandbox.port, { key, ...attach });
    await sendRaw(sandbox.port, { key, ...attach });
    await sandbox.close();
    expect(arrivals.map(({ fault }) => fault)).toEqual([
      { rule: 1, name: "reset", effect: "before", answered: 201 },
      undefined,
    ]);
    expect(arrivals.map(({ status, body }) => ({ status, body }))).toEqual([
      { status: null, body: attach.body },
      { status: 409, body: attach.body },
    ]);
  });

  test("holds the body of what was not carried out", async () => {
    const arrivals: RequestLogEntry[] = [];
    const sandbox = await startFaulty({ fault: "reset" }, arrivals);
    await sendRaw(sandbox.port, { key, ...attach });
    await sandbox.close();
    expect(arrivals).toMatchObject([{ body: attach.body, fault: { effect: "none", answered: null } }]);
  });

  test("says nothing of a fault that the answer had no place for", async () => {
    const arrivals: RequestLogEntry[] = [];
    const sandbox = await startFaulty({ fault: "no-id" }, arrivals);
    const received = await sendRaw(sandbox.port, { key, method: "GET", path: "/api/uploads/none" });
    await sandbox.close();
    expect(received.body).toContain("no-such-upload");
    expect(arrivals[0]).not.toHaveProperty("fault");
  });
});

describe("an effect after the fault", () => {
  test.each([
    { fault: "reset", end: "reset", text: /^$/ },
    { fault: "accepted", end: "closed", text: /^HTTP\/1.1 202 .*"meta"/s },
  ])("$fault: the request is carried out when its connection is gone", async ({ fault, end, text }) => {
    const sandbox = await startFaulty({ fault, effect: "after", late: "400ms" });
    const received = await sendRaw(sandbox.port, { key, ...attach });
    expect(received.end).toBe(end);
    expect(received.text).toMatch(text);
    expect(sandbox.state().attachments).toEqual([]);
    await expect.poll(() => sandbox.state().attachments, { timeout: 10_000 }).toMatchObject([{ fileId: 7 }]);
    await sandbox.close();
  });

  test("does not come when the sandbox has ended", async () => {
    const sandbox = await startFaulty({ fault: "reset", effect: "after", late: "10m" });
    await sendRaw(sandbox.port, { key, ...attach });
    await expect(sandbox.close()).resolves.toBeUndefined();
  });
});

describe("object storage", () => {
  const put = { method: "PUT", path: "/draftsync-sandbox/uploads/x", body: "bytes" };

  test.each([
    { fault: "reset", end: "reset", text: /^$/, rule: {} },
    {
      fault: "status",
      end: "closed",
      text: /^HTTP\/1.1 503 .*<Code>SlowDown<\/Code>/s,
      rule: { status: 503 },
    },
  ])("$fault, and a call of the service is not counted", async ({ fault, end, text, rule }) => {
    const arrivals: RequestLogEntry[] = [];
    const sandbox = await startFaulty({ fault, when: { side: "storage" }, ...rule }, arrivals);
    const bucket = JSON.parse((await sendRaw(sandbox.port, { key, ...credentials })).body).data.attributes
      .bucket;
    const received = await sendRaw(sandbox.port, { key, ...put, path: `/${bucket}/x` });
    await sandbox.close();
    expect(received.end).toBe(end);
    expect(received.text).toMatch(text);
    expect(arrivals.map(({ side, fault: got }) => [side, got?.name])).toEqual([
      ["service", undefined],
      ["storage", fault],
    ]);
  });
});

test("the rate bound comes before the faults", async () => {
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
