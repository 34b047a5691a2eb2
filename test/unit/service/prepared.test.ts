import { expect, test } from "vitest";
import { fileDocument, makeLatch, startHarness, target, write } from "./support/harness.ts";
import { answer } from "./support/raw-server.ts";

test("calls are journaled while others have the connections: four for each, and no more", async () => {
  const concurrency = 2;
  const allThere = makeLatch();
  let [onTheirWay, mostOnTheirWay, stored] = [0, 0, 0];
  const storedBeforeAnswers: number[] = [];
  const { service } = await startHarness(
    (_request, index) => async (socket) => {
      onTheirWay += 1;
      mostOnTheirWay = Math.max(mostOnTheirWay, onTheirWay);
      if (onTheirWay === concurrency) allThere.open();
      await allThere.opened;
      if (index < concurrency) storedBeforeAnswers.push(stored);
      onTheirWay -= 1;
      socket.write(answer(204));
    },
    { concurrency, rate: { limit: 1000, windowMs: 1000 } },
  );
  const beforeSend = async () => {
    stored += 1;
  };
  const calls = Array.from({ length: 50 }, (_none, at) =>
    service.detach({ ...target, fileId: at + 1 }, write({ beforeSend })),
  );
  const outcomes = (await Promise.all(calls)).map(({ outcome }) => outcome);
  expect(new Set(outcomes)).toEqual(new Set(["done"]));
  expect(mostOnTheirWay).toBe(concurrency);
  expect(storedBeforeAnswers).toEqual([concurrency * 4, concurrency * 4]);
});

test("a call whose intent is stored is not sent when it is aborted before it has a connection", async () => {
  const controller = new AbortController();
  const stored = makeLatch();
  const { service, server } = await startHarness(
    () => async (socket) => {
      await stored.opened;
      controller.abort();
      socket.write(answer(200, fileDocument()));
    },
    { concurrency: 1 },
  );
  const first = service.attach(target, {}, write());
  const second = service.detach(
    target,
    write({ signal: controller.signal, beforeSend: async () => stored.open() }),
  );
  expect(await first).toMatchObject({ outcome: "done" });
  expect(await second).toMatchObject({ outcome: "not_sent", failure: { code: "aborted" } });
  expect(server.requests.map(({ method }) => method)).toEqual(["POST"]);
});

test("a call whose intent is stored waits when the service refuses the one before it on its connection", async () => {
  const stored = makeLatch();
  const { service, server } = await startHarness(
    (_request, index) => async (socket) => {
      if (index > 0) return void socket.write(answer(204));
      await stored.opened;
      socket.write(answer(429, undefined, { "Retry-After": "0.3" }));
    },
    { concurrency: 1 },
  );
  let times = 0;
  const beforeSend = async () => {
    times += 1;
    stored.open();
  };
  const refused = service.attach(target, {}, write());
  const waiting = service.detach(target, write({ beforeSend }));
  await Promise.all([refused, waiting]);
  const [first = 0, ...later] = server.requests.map(({ at }) => at);
  expect(later.length).toBeGreaterThan(0);
  for (const at of later) expect(at - first).toBeGreaterThanOrEqual(290);
  expect(times).toBe(1);
});

test("the intent of what only a person could settle is stored when the call has its connection", async () => {
  const [arrived, stored] = [makeLatch(), makeLatch()];
  const order: string[] = [];
  const { service } = await startHarness(
    (_request, index) => async (socket) => {
      if (index === 0) {
        arrived.open();
        await stored.opened;
      }
      order.push(`answer ${index}`);
      socket.write(answer(index === 0 ? 204 : 503));
    },
    { concurrency: 1 },
  );
  const storing = (what: string) => write({ beforeSend: async () => void order.push(`${what} stored`) });
  const first = service.detach(target, storing("detachment"));
  await arrived.opened;
  const second = service.publish(1, storing("publication"));
  const beforeSend = async () => {
    order.push("other detachment stored");
    stored.open();
  };
  const third = service.detach({ ...target, fileId: 2 }, write({ beforeSend }));
  await Promise.all([first, second, third]);
  expect(order.slice(0, 4)).toEqual([
    "detachment stored",
    "other detachment stored",
    "answer 0",
    "publication stored",
  ]);
});
