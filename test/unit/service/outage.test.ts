import { expect, it } from "vitest";
import { fileDocument, startHarness, target, write } from "./support/harness.ts";
import { answer } from "./support/raw-server.ts";

/** What each of these calls stops, when so many seconds pass between them; `ok` calls are accepted. */
async function stopsOf(kinds: string, seconds: number): Promise<readonly string[]> {
  let skew = 0;
  const clock = { now: () => Date.now() + skew, monotonic: () => performance.now() + skew };
  const reply = (_request: unknown, index: number) =>
    kinds[index] === "." ? answer(201, fileDocument()) : answer(503);
  const { service } = await startHarness(reply, { clock });
  const stops: string[] = [];
  for (const _kind of kinds) {
    const result = await service.attach(target, {}, write());
    stops.push(result.outcome === "done" ? "done" : result.failure.stops);
    skew += seconds * 1000;
  }
  return stops;
}

const operation = "operation";

it("stops the run when five calls in a row are lost within more than ten seconds", async () => {
  expect(await stopsOf("xxxxx", 3)).toEqual([operation, operation, operation, operation, "run"]);
});

it("goes on while the service accepts calls in between, or for ten seconds", async () => {
  expect(await stopsOf("xxxx.xxxx", 60)).not.toContain("run");
  expect(await stopsOf("xxxxxxxx", 1)).not.toContain("run");
});
