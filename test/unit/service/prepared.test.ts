import { expect, test } from "vitest";
import { makeLatch, startHarness, target, write } from "./support/harness.ts";
import { answer } from "./support/raw-server.ts";

/** As many as it takes for calls to be prepared beside those that are under way. */
const concurrency = 16;
const rate = { limit: 1000, windowMs: 1000 };

type Service = Awaited<ReturnType<typeof startHarness>>["service"];

const detach = (service: Service, fileId: number, options = write()) =>
  service.detach({ ...target, fileId }, options);

const takeAllConnections = (service: Service) =>
  Array.from({ length: concurrency }, (_none, at) => detach(service, at + 1));

test.each([
  [16, 64],
  [15, 15],
])(
  "of %i connections all are used, and %i calls are journaled before the first answer",
  async (most, ahead) => {
    const allThere = makeLatch();
    let [onTheirWay, mostOnTheirWay, stored] = [0, 0, 0];
    const storedBeforeAnswers = new Set<number>();
    const { service } = await startHarness(
      (_request, index) => async (socket) => {
        onTheirWay += 1;
        mostOnTheirWay = Math.max(mostOnTheirWay, onTheirWay);
        if (onTheirWay === most) allThere.open();
        await allThere.opened;
        if (index < most) storedBeforeAnswers.add(stored);
        onTheirWay -= 1;
        socket.write(answer(204));
      },
      { concurrency: most, rate },
    );
    const beforeSend = async () => {
      stored += 1;
    };
    const calls = Array.from({ length: 200 }, (_none, at) => detach(service, at + 1, write({ beforeSend })));
    const outcomes = (await Promise.all(calls)).map(({ outcome }) => outcome);
    expect(new Set(outcomes)).toEqual(new Set(["done"]));
    expect(mostOnTheirWay).toBe(most);
    expect([...storedBeforeAnswers]).toEqual([ahead]);
  },
);

test("a call whose intent is stored is not sent when it is aborted before it has a connection", async () => {
  const controller = new AbortController();
  const stored = makeLatch();
  const { service, server } = await startHarness(
    () => async (socket) => {
      await stored.opened;
      controller.abort();
      socket.write(answer(204));
    },
    { concurrency, rate },
  );
  const first = takeAllConnections(service);
  const beforeSend = async () => stored.open();
  const next = detach(service, 99, write({ signal: controller.signal, beforeSend }));
  expect(await next).toMatchObject({ outcome: "not_sent", failure: { code: "aborted" } });
  await Promise.all(first);
  expect(server.requests).toHaveLength(concurrency);
});

test("a call whose intent is stored waits when the service refuses one that has a connection", async () => {
  const [stored, refusalSeen] = [makeLatch(), makeLatch()];
  const { service, server } = await startHarness(
    (_request, index) => async (socket) => {
      await (index === 0 ? stored : refusalSeen).opened;
      socket.write(index === 0 ? answer(429, undefined, { "Retry-After": "0.3" }) : answer(204));
    },
    { concurrency, rate, emit: ({ type }) => type === "waiting" && refusalSeen.open() },
  );
  const first = takeAllConnections(service);
  let times = 0;
  const beforeSend = async () => {
    times += 1;
    stored.open();
  };
  await Promise.all([...first, detach(service, 99, write({ beforeSend }))]);
  const at = server.requests.map((request) => request.at);
  const [refused = 0] = at;
  expect(at).toHaveLength(concurrency + 2);
  for (const sent of at.slice(concurrency)) expect(sent - refused).toBeGreaterThanOrEqual(290);
  expect(times).toBe(1);
});

test("the intent of what only a person could settle is stored when the call has its connection", async () => {
  const [arrived, stored] = [makeLatch(), makeLatch()];
  const order: string[] = [];
  const { service } = await startHarness(
    (_request, index) => async (socket) => {
      if (index === concurrency - 1) arrived.open();
      await stored.opened;
      if (index === 0) order.push("first answer");
      socket.write(answer(index < concurrency ? 204 : 503));
    },
    { concurrency, rate },
  );
  const first = takeAllConnections(service);
  await arrived.opened;
  const storing = (what: string) => write({ beforeSend: async () => void order.push(`${what} stored`) });
  const publishing = service.publish(1, storing("publication"));
  const beforeSend = async () => {
    order.push("detachment stored");
    stored.open();
  };
  await Promise.all([...first, publishing, detach(service, 99, write({ beforeSend }))]);
  expect(order).toEqual(["detachment stored", "first answer", "publication stored"]);
});
