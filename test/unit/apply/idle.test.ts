import { expect, onTestFinished, test } from "vitest";
import { answerProcessing } from "../../support/registrations.ts";
import { startWorld } from "../../support/world.ts";

test("runs another draft while one waits to settle a call", async () => {
  const world = await startWorld({ profile: { settle_delay: "3s" } });
  onTestFinished(() => world.close());
  const drafts = Array.from(
    { length: 9 },
    (_none, at) => `draft: ${at + 1}\nproduct_files: [{ file_id: 7 }]\n`,
  );
  await world.write(drafts.join("---\n"));
  const lost = new Set<string>();
  world.proxy.choose = ({ method, path }) => {
    if (method !== "POST" || lost.has(path)) return undefined;
    lost.add(path);
    return { type: "lost" };
  };
  expect((await world.apply()).totals).toMatchObject({ done: 9, in_doubt: 0 });
  const methods = world.requests().map((request) => request.split(" ")[0]);
  // With only four places, each group of four would wait for the previous one.
  expect(methods.slice(0, 9)).toEqual(Array.from({ length: 9 }, () => "POST"));
}, 20_000);

test("runs another draft while others wait for their uploads", async () => {
  const world = await startWorld({ profile: { upload_poll_min: "10ms", upload_deadline: "5s" } });
  onTestFinished(() => world.close());
  const waiting = [1, 2, 3, 4].map((id) => `draft: ${id}\nproduct_files: [{ upload_id: u${id} }]\n`);
  await world.write([...waiting, "draft: 5\nproduct_files: [{ file_id: 7 }]\n"].join("---\n"));
  let isAttached = false;
  world.proxy.choose = (request) => {
    if (request.method === "POST") isAttached = true;
    return isAttached ? undefined : answerProcessing(request);
  };
  expect((await world.apply()).totals).toMatchObject({ done: 1, failed: 4 });
  // With only four places, the file would be attached once the uploads had timed out.
  expect(world.requests().at(-1)).toMatch(/^GET/);
});
