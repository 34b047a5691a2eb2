import { describe, expect, it } from "vitest";
import { systemClock } from "../../../src/model/ports.ts";
import { noSignal, startHarness, uploadResource } from "./support/harness.ts";
import type { RecordedRequest, Reply } from "./support/raw-server.ts";
import { answer } from "./support/raw-server.ts";

const quick = { upload_poll_min: "5ms", upload_poll_max: "20ms" };

/** The upload ids in a request. */
const idsOf = (request: RecordedRequest) => (request.path.split("=")[1] ?? "").split(",");

/** Returns every upload as successful, with this file id. */
const succeedWith = (fileId: number) => (request: RecordedRequest) =>
  answer(200, { data: idsOf(request).map((id) => uploadResource(id, "success", fileId)) });

describe("awaitUpload", () => {
  it("polls all awaited uploads together until each has ended", async () => {
    const rounds = new Map<string, number>();
    const { service, server } = await startHarness(
      (request) =>
        answer(200, {
          data: idsOf(request).map((id) => {
            const round = (rounds.get(id) ?? 0) + 1;
            rounds.set(id, round);
            if (round < 3) return uploadResource(id, round === 1 ? "queued" : "processing");
            return id === "u3"
              ? uploadResource(id, "failed")
              : uploadResource(id, "success", 900 + Number(id.slice(1)));
          }),
        }),
      { profile: quick },
    );
    const results = await Promise.all(
      ["u1", "u2", "u3"].map((id) => service.awaitUpload(id, { signal: noSignal() })),
    );
    expect(
      results.map((result) =>
        result.outcome === "done" ? [result.value.status, result.value.fileId] : result,
      ),
    ).toEqual([
      ["success", 901],
      ["success", 902],
      ["failed", undefined],
    ]);
    expect(server.requests.map(idsOf)).toEqual([
      ["u1", "u2", "u3"],
      ["u1", "u2", "u3"],
      ["u1", "u2", "u3"],
    ]);
  });

  it("reads an upload before its deadline while more are expected", async () => {
    const { service, server } = await startHarness(succeedWith(1), {
      profile: { ...quick, upload_deadline: "1500ms" },
    });
    const arrived = service.expectUpload();
    expect(await service.awaitUpload("u1", { signal: noSignal() })).toMatchObject({
      value: { status: "success" },
    });
    arrived();
    expect(server.requests.map(idsOf)).toEqual([["u1"]]);
  });

  it("splits reads into pages", async () => {
    const { service, server } = await startHarness(succeedWith(1), {
      profile: { ...quick, uploads_page: 50 },
    });
    const ids = Array.from({ length: 120 }, (_, index) => `u${index}`);
    await Promise.all(ids.map((id) => service.awaitUpload(id, { signal: noSignal() })));
    const pages = server.requests.map(idsOf);
    expect(pages.flat().sort()).toEqual([...ids].sort());
    // If the process is suspended between two calls, the last ones are due a moment later.
    expect(pages.filter(({ length }) => length === 50)).toHaveLength(2);
  });

  it("reads once for two callers that await the same upload", async () => {
    let elapsed = 0;
    const slow = { now: systemClock.now, monotonic: () => (elapsed += 10) };
    const { service, server } = await startHarness(succeedWith(7), { profile: quick, clock: slow });
    const both = await Promise.all([
      service.awaitUpload("u1", { signal: noSignal() }),
      service.awaitUpload("u1", { signal: noSignal() }),
    ]);
    expect(both).toMatchObject([{ value: { fileId: 7 } }, { value: { fileId: 7 } }]);
    expect(server.requests.map(idsOf)).toEqual([["u1"]]);
  });

  it("reads an upload by its id when the list lacks it", async () => {
    const { service, server } = await startHarness(
      (request) =>
        request.path.startsWith("/api/uploads?")
          ? answer(200, { data: [] })
          : answer(200, { data: uploadResource("u1", "success", 5) }),
      { profile: quick },
    );
    expect(await service.awaitUpload("u1", { signal: noSignal() })).toMatchObject({
      outcome: "done",
      value: { fileId: 5 },
      attempts: 2,
    });
    expect(server.requests.map((request) => request.path)).toEqual([
      "/api/uploads?filter%5Bid%5D=u1",
      "/api/uploads/u1",
    ]);
  });

  it("delays reads while uploads are expected, so that one call reads them all", async () => {
    const { service, server } = await startHarness(succeedWith(5), {
      profile: { ...quick, uploads_page: 3 },
    });
    const arrived = ["u1", "u2", "u3", "u4", "u5"].map(() => service.expectUpload());
    const arrive = (index: number) => {
      const end = service.awaitUpload(`u${index + 1}`, { signal: noSignal() });
      arrived[index]?.();
      return end;
    };
    const first = arrive(0);
    // Longer than the interval between two reads: the read is due but delayed.
    await expect.poll(() => server.requests.length, { timeout: 100 }).toBe(0);
    const page = [first, arrive(1), arrive(2)];
    for (const end of await Promise.all(page)) expect(end).toMatchObject({ outcome: "done" });
    expect(server.requests.map(idsOf)).toEqual([["u1", "u2", "u3"]]);
    const last = [arrive(3), arrive(4)];
    for (const end of await Promise.all(last)) expect(end).toMatchObject({ outcome: "done" });
    expect(server.requests.map(idsOf).slice(1)).toEqual([["u4", "u5"]]);
  });

  it("fails when the upload does not exist", async () => {
    const { service } = await startHarness(
      (request) =>
        request.path.includes("?") ? answer(200, { data: [] }) : answer(404, { errors: [{ status: "404" }] }),
      { profile: quick },
    );
    expect(await service.awaitUpload("typo", { signal: noSignal() })).toMatchObject({
      outcome: "rejected",
      failure: { code: "gone" },
    });
  });

  it("continues while fewer than three reads in a row fail", async () => {
    const { service, server } = await startHarness(
      (_request, index) => {
        if (index % 3 < 2) return answer(503);
        return answer(200, { data: [uploadResource("u1", index < 8 ? "queued" : "success", 5)] });
      },
      { profile: quick },
    );
    expect(await service.awaitUpload("u1", { signal: noSignal() })).toMatchObject({
      outcome: "done",
      value: { status: "success" },
    });
    expect(server.requests).toHaveLength(9);
  });

  const portal = () => answer(200, "<html>Sign in</html>", { "Content-Type": "text/html" });
  const failures: readonly [string, () => Reply, string][] = [
    ["closes the connection", () => (socket) => void socket.resetAndDestroy(), "connection-reset"],
    ["returns 500", () => answer(500), "server-error"],
    ["returns the web page of a portal", portal, "malformed-response"],
    ["returns 429", () => answer(429, undefined, { "Retry-After": "0.01" }), "rate-limited"],
  ];
  it.each(failures)(
    "ends every wait after three reads of each kind when the service %s",
    async (_, reply, code) => {
      const { service, server } = await startHarness(reply, {
        profile: { ...quick, upload_deadline: "30m" },
      });
      const results = await Promise.all(
        ["u1", "u2"].map((id) => service.awaitUpload(id, { signal: noSignal() })),
      );
      // After a rate limit, uploads are not read one by one.
      const [attempts, requests] = code === "rate-limited" ? [3, 3] : [6, 9];
      for (const result of results) {
        expect(result).toMatchObject({ failure: { code, stops: "operation" }, attempts });
        expect(result.outcome === "done" ? "" : result.failure.hint).toContain(
          "Run the command again: it continues to wait",
        );
      }
      expect(server.requests).toHaveLength(requests);
    },
  );

  it("reads each upload separately when the list fails", async () => {
    const { service } = await startHarness(
      ({ path }) =>
        path.includes("u1") ? answer(500) : answer(200, { data: uploadResource("u2", "success", 5) }),
      { profile: { ...quick, upload_deadline: "30m" } },
    );
    const [broken, sound] = await Promise.all(
      ["u1", "u2"].map((id) => service.awaitUpload(id, { signal: noSignal() })),
    );
    expect(broken).toMatchObject({ failure: { code: "server-error" } });
    expect(sound).toMatchObject({ outcome: "done", value: { fileId: 5 } });
  });

  it.each([202, 204])(
    "ends the wait when the service returns %i to the list and to the upload",
    async (status) => {
      const { service, server } = await startHarness(() => answer(status), { profile: quick });
      expect(await service.awaitUpload("u1", { signal: noSignal() })).toMatchObject({
        failure: { stops: "operation", hint: expect.stringContaining("Run the command again") },
      });
      expect(server.requests).toHaveLength(2);
    },
  );

  it("reads each upload separately when the service refuses the list", async () => {
    const { service } = await startHarness(
      (request) =>
        request.path.includes("?") ? answer(400) : answer(200, { data: uploadResource("u1", "success", 5) }),
      { profile: quick },
    );
    expect(await service.awaitUpload("u1", { signal: noSignal() })).toMatchObject({ outcome: "done" });
  });

  it("reports the last status when the deadline has passed", async () => {
    const { service } = await startHarness(
      () => answer(200, { data: [uploadResource("u1", "processing")] }),
      {
        profile: { ...quick, upload_deadline: "500ms" },
      },
    );
    const result = await service.awaitUpload("u1", { signal: noSignal() });
    expect(result).toMatchObject({
      outcome: "unknown",
      failure: { code: "upload-timeout", stops: "operation" },
    });
    expect(result.outcome === "done" ? "" : result.failure.message).toContain("processing");
  });

  it("reads at once what an earlier run has registered", async () => {
    const { service } = await startHarness(
      () => answer(200, { data: [uploadResource("u1", "success", 5)] }),
      { profile: { upload_poll_min: "5m", upload_poll_max: "5m" } },
    );
    const options = { signal: noSignal(), registeredAgoMs: 1e12 };
    expect(await service.awaitUpload("u1", options)).toMatchObject({ outcome: "done" });
  });

  it("reads once what an earlier run registered before the deadline", async () => {
    const { service, server } = await startHarness(
      (request) =>
        request.path.includes("?")
          ? answer(200, { data: [] })
          : answer(200, { data: uploadResource("u1", "processing") }),
      { profile: quick },
    );
    const waiting = service.awaitUpload("u1", { signal: noSignal(), registeredAgoMs: 1e12 });
    expect(await waiting).toMatchObject({ failure: { code: "upload-timeout" } });
    expect(server.requests).toHaveLength(2);
  });

  it("ends every wait immediately when the key is rejected", async () => {
    const { service, server } = await startHarness(() => answer(401), { profile: quick });
    const results = await Promise.all(
      ["u1", "u2"].map((id) => service.awaitUpload(id, { signal: noSignal() })),
    );
    expect(results).toMatchObject([{ failure: { stops: "run" } }, { failure: { stops: "run" } }]);
    expect(server.requests).toHaveLength(1);
  });

  it("continues for other callers when one aborts", async () => {
    const leaving = new AbortController();
    const { service, server } = await startHarness(
      (request, index) => {
        if (index === 0) leaving.abort();
        return answer(200, {
          data: idsOf(request).map((id) => uploadResource(id, index < 2 ? "queued" : "success", 5)),
        });
      },
      { profile: quick },
    );
    const [left, stayed] = await Promise.all([
      service.awaitUpload("u1", { signal: leaving.signal }),
      service.awaitUpload("u2", { signal: noSignal() }),
    ]);
    expect(left).toMatchObject({ outcome: "not_sent", failure: { code: "aborted" } });
    expect(stayed).toMatchObject({ outcome: "done" });
    expect(server.requests.map(idsOf)).toEqual([["u1", "u2"], ["u2"], ["u2"]]);
  });

  it("ends every wait when the service is closed", async () => {
    const { service, server } = await startHarness(() => answer(200, { data: [] }), {
      profile: { upload_poll_min: "5s" },
    });
    const waiting = service.awaitUpload("u1", { signal: noSignal() });
    await service.close();
    expect(await waiting).toMatchObject({ outcome: "not_sent", failure: { code: "aborted" } });
    expect(await service.awaitUpload("u2", { signal: noSignal() })).toMatchObject({
      failure: { code: "aborted" },
    });
    expect(server.requests).toEqual([]);
  });
});
