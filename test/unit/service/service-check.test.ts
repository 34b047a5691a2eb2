import { describe, expect, it } from "vitest";
import type { Service } from "../../../src/service/open-service.ts";
import { refusal } from "./support/failure-rows.ts";
import {
  fileDocument,
  makeLatch,
  noSignal,
  productDocument,
  startHarness,
  target,
  uploadResource,
  write,
} from "./support/harness.ts";
import type { RecordedRequest, Reply } from "./support/raw-server.ts";
import { answer } from "./support/raw-server.ts";

const html = (status: number) => answer(status, "<html>Sign in</html>", { "Content-Type": "text/html" });
const publish = (service: Service) => service.publish(48213, write());
const duplicate = (service: Service) => service.duplicate(771199, write());

/** A server that returns `read` to reads and, by default, a product to writes. */
function start(
  read: Reply,
  writes: (request: RecordedRequest) => Reply = () => answer(201, productDocument()),
) {
  return startHarness((request) => (request.method === "GET" ? read : writes(request)), { isUnknown: true });
}

function sent({ server }: Awaited<ReturnType<typeof start>>): readonly string[] {
  return server.requests.map(({ method, path }) => `${method} ${path}`);
}

describe("check before the first publish or duplicate of a run", () => {
  it.each([
    ["a publish", publish, "GET /api/uploads/0", "POST /api/products"],
    [
      "a second publish of a draft",
      (service: Service) => service.publish(48213, { ...write(), productId: 5 }),
      "GET /api/uploads/0",
      "POST /api/products",
    ],
    ["a duplicate", duplicate, "GET /api/uploads/0", "POST /api/products/771199/duplicate"],
  ])("reads once for %s, and accepts any JSON:API document", async (_name, send, read, post) => {
    for (const reply of [answer(404, refusal), answer(403, refusal), answer(410, refusal)]) {
      const run = await start(reply);
      expect(await send(run.service)).toMatchObject({ outcome: "done", attempts: 1 });
      expect(await send(run.service)).toMatchObject({ outcome: "done" });
      expect(sent(run)).toEqual([read, post, post]);
    }
  });

  it("fails only when the reads of an upload and of the product both get no JSON:API document", async () => {
    const both = ["GET /api/uploads/0", "GET /api/products/771199"];
    const documents = await startHarness(
      ({ method, path }) => {
        if (path === "/api/uploads/0") return html(404);
        return method === "GET" ? answer(404, refusal) : answer(201, productDocument());
      },
      { isUnknown: true },
    );
    expect(await duplicate(documents.service)).toMatchObject({ outcome: "done" });
    expect(sent(documents).slice(0, 2)).toEqual(both);
    const portal = await start(html(404));
    expect(await duplicate(portal.service)).toMatchObject({ outcome: "not_sent" });
    expect(sent(portal)).toEqual(both);
  });

  it("reads nothing when the service has already returned a document", async () => {
    const uploads = { data: uploadResource("u", "queued") };
    const before: readonly [(service: Service) => Promise<unknown>, object][] = [
      [(service) => service.attach(target, {}, write()), fileDocument()],
      [(service) => service.getUpload("u", noSignal()), uploads],
      [(service) => service.createUpload("in/u", write()), uploads],
    ];
    for (const [send, document] of before) {
      const run = await start(answer(200, document), ({ path }) =>
        answer(200, path === "/api/products" ? productDocument() : document),
      );
      await send(run.service);
      expect(await publish(run.service)).toMatchObject({ outcome: "done" });
      expect(sent(run)).toHaveLength(2);
    }
  });

  it.each([
    ["204", answer(204)],
    ["a web page", html(200)],
    ["an error page", html(403)],
  ])("reads after an earlier call that returned %s", async (_name, reply) => {
    const run = await start(answer(404, refusal), ({ path }) =>
      path === "/api/products" ? answer(201, productDocument()) : reply,
    );
    await run.service.attach(target, {}, write());
    expect(await publish(run.service)).toMatchObject({ outcome: "done" });
    expect(sent(run)).toContain("GET /api/uploads/0");
  });

  it.each([
    ["a login page", html(200), "service-not-confirmed"],
    ["a web page with 404", html(404), "service-not-confirmed"],
    ["an empty 404", answer(404), "service-not-confirmed"],
    [
      "plain JSON",
      answer(404, { message: "no route" }, { "Content-Type": "application/json" }),
      "service-not-confirmed",
    ],
    ["a redirect", answer(302, undefined, { Location: "https://login.example" }), "service-not-confirmed"],
    ["another protocol", "SSH-2.0-OpenSSH_9.6\r\n\r\n", "service-not-confirmed"],
    ["a failing proxy", html(502), "server-error"],
    ["a rejected key", answer(401, refusal), "unauthorized"],
  ])("sends and records no publish when the read gets %s", async (_name, reply, code) => {
    const run = await start(reply);
    const journaled: string[] = [];
    const beforeSend = async ({ path }: { readonly path: string }) => void journaled.push(path);
    const result = await run.service.publish(48213, write({ beforeSend }));
    expect(result).toMatchObject({ outcome: "not_sent", failure: { code } });
    expect(result.outcome === "done" ? "" : result.failure.message).toContain("GET /api/uploads/0: ");
    expect(sent(run).filter((request) => request.startsWith("POST"))).toEqual([]);
    expect(journaled).toEqual([]);
  });

  it("reads once for all waiting calls", async () => {
    const { open, opened } = makeLatch();
    const run = await start(async (socket) => {
      await opened;
      socket.write(answer(404, refusal));
    });
    const all = Promise.all([publish(run.service), publish(run.service), duplicate(run.service)]);
    open();
    for (const result of await all) expect(result.outcome).toBe("done");
    expect(sent(run).filter((request) => request.startsWith("GET"))).toEqual(["GET /api/uploads/0"]);
  });

  it("reads nothing when another call shows the same while the read waits for its turn", async () => {
    const { open, opened } = makeLatch();
    const run = await startHarness(
      ({ path }) =>
        path === "/api/products"
          ? answer(201, productDocument())
          : async (socket) => {
              await opened;
              socket.write(answer(200, fileDocument()));
            },
      { isUnknown: true, concurrency: 1 },
    );
    const blocking = run.service.attach(target, {}, write());
    const published = publish(run.service);
    open();
    expect(await published).toMatchObject({ outcome: "done" });
    await blocking;
    expect(sent(run)).toHaveLength(2);
  });

  it("reads again when the call that started the read was aborted", async () => {
    const { open, opened } = makeLatch();
    const stop = new AbortController();
    const run = await start(answer(404, refusal), ({ path }) =>
      path === "/api/products"
        ? answer(201, productDocument())
        : async (socket) => {
            await opened;
            socket.write(answer(429, undefined, { "Retry-After": "0.1" }));
          },
    );
    const blocking = run.service.attach(target, {}, write());
    const stopped = run.service.publish(1, write({ signal: stop.signal }));
    const other = run.service.publish(2, write());
    stop.abort();
    open();
    expect(await other).toMatchObject({ outcome: "done" });
    expect((await stopped).outcome).not.toBe("unknown");
    await blocking;
  });
});
