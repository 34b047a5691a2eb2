import { expect, test } from "vitest";
import type { Passing } from "../support/faulty-proxy.ts";
import { useWorkspace } from "../support/workspace.ts";

const { sandbox, proxy, arrivals, run, apply, start } = useWorkspace({
  files: {
    "manifests/a.yaml":
      "draft: 1\nproduct_files: [{ source: ../a.glb }, { source: ../b.glb }]\npublish: true\n",
    "a.glb": "content",
    "b.glb": Buffer.alloc(9 * 1024 * 1024, "content"),
  },
  service: { timeout: "10m", profile: "{ settle_delay: 1ms, upload_poll_min: 5ms }" },
  sandbox: { uploadProcessingMs: 0 },
});

const isPut = ({ method, path }: Passing) => method === "PUT" && !path.includes("partNumber");
const isComplete = ({ method, path }: Passing) => method === "POST" && path.includes("uploadId");
const isRegistration = ({ method, path }: Passing) => method === "POST" && path === "/api/uploads";

/** Kills an apply when both files have sent a matching request, whose response is held. */
async function killAt(held: (request: Passing) => boolean): Promise<void> {
  let count = 0;
  proxy.choose = (request) => {
    if (!held(request)) return undefined;
    count += 1;
    return { type: "answer-held" };
  };
  const running = start(["apply", "--auto-approve"]);
  await expect.poll(() => count, { timeout: 60_000 }).toBe(2);
  await expect.poll(() => sandbox.state().objects.length, { timeout: 60_000 }).toBe(2);
  running.kill("SIGKILL");
  await running.ended;
  proxy.choose = () => undefined;
  arrivals.length = 0;
}

async function expectAllDone(): Promise<void> {
  const applied = await apply();
  expect(applied.stderr).toContain("Applied: 3 done.");
  expect(applied.code).toBe(0);
  const { objects, attachments, products } = sandbox.state();
  expect([objects.length, attachments.length, products.length]).toEqual([2, 2, 1]);
}

const calls = () => arrivals.map(({ method, path, side }) => `${side} ${method} ${path}`);

test("a kill while the storage responds lets the next run replace the stored bytes", async () => {
  await killAt((request) => isPut(request) || isComplete(request));
  await expectAllDone();
});

test("a kill between storage and registration lets the next run register without sending the bytes or fetching credentials", async () => {
  await killAt(isRegistration);
  const listed = await run("state", "list", "uploads/a.glb");
  expect(listed.stdout).toContain("in storage, not registered yet");
  const plan = await run("plan");
  expect(plan.stdout.match(/in storage already/g)).toHaveLength(2);
  await expectAllDone();
  const { entries } = JSON.parse((await run("state", "list", "uploads/", "--json")).stdout);
  expect(entries.filter(({ is }: { is: string }) => is.includes("not registered"))).toEqual([]);
  expect(calls().filter((call) => /storage|credentials/.test(call))).toEqual([]);
});

test("an object that the service rejects is uploaded again by the next run", async () => {
  await killAt(isRegistration);
  proxy.choose = (request) => (isRegistration(request) ? { type: "answer", status: 422 } : undefined);
  expect((await apply()).code).toBe(3);
  expect(calls().filter((call) => call.startsWith("storage"))).toEqual([]);
  proxy.choose = () => undefined;
  await expectAllDone();
  expect(calls().filter((call) => call.startsWith("storage PUT"))).toHaveLength(3);
});
