import { describe, expect, test } from "vitest";
import type { Fault } from "../support/faulty-proxy.ts";
import { useWorkspace } from "../support/workspace.ts";

const files = (count: number) =>
  Array.from({ length: count }, (_none, at) => `{ file_id: ${at + 1} }`).join(", ");
const manifest = (count: number, rest = "") => `draft: 1\nproduct_files: [${files(count)}]\n${rest}`;

/** A JSON:API error: any other refusal would leave a duplicate in doubt. */
const refusedKey: Fault = {
  type: "answer",
  status: 401,
  headers: { "content-type": "application/vnd.api+json" },
  body: JSON.stringify({ errors: [{ status: "401", title: "Unauthorized" }] }),
};

const { sandbox, proxy, folder, run, apply, start } = useWorkspace({
  files: { "manifests/a.yaml": manifest(3) },
});

describe("exit code", () => {
  test("is 0 when all changes are applied and when there are none", async () => {
    expect((await apply()).code).toBe(0);
    expect((await apply()).code).toBe(0);
  });

  test("is 2 for pending changes with --detailed-exitcode", async () => {
    expect((await run("plan")).code).toBe(0);
    expect((await run("plan", "--detailed-exitcode")).code).toBe(2);
    await apply();
    expect((await run("plan", "--detailed-exitcode")).code).toBe(0);
  });

  test("is 3 when an operation fails", async () => {
    proxy.choose = ({ body }) => (body.includes('"file_id":2') ? { type: "answer", status: 422 } : undefined);
    const { code, stderr } = await apply();
    expect(code).toBe(3);
    expect(stderr).toContain("2 done, 1 failed");
  });

  test("is 3 when the key is refused mid-run; completed changes are kept and nothing more is sent", async () => {
    let sent = 0;
    proxy.choose = ({ path }) => {
      sent += 1;
      return sent > 3 && path === "/api/products" ? refusedKey : undefined;
    };
    const copies = Array.from({ length: 5 }, (_none, at) => `{ name: c${at}, product: { draft: 1 } }`);
    await folder.write({
      "manifests/a.yaml": manifest(3, `publish: true\n---\nduplicates: [${copies.join(", ")}]\n`),
    });
    const { code, stderr } = await apply();
    expect(code).toBe(3);
    expect(stderr).toContain("3 done, 1 failed, 5 skipped");
    expect(stderr).toContain("DRAFTSYNC_API_KEY");
    expect(proxy.seen).toHaveLength(4);
    proxy.choose = () => undefined;
    expect((await apply()).code).toBe(0);
    expect(sandbox.state().products).toHaveLength(6);
    expect(sandbox.state().attachments).toHaveLength(3);
  });

  test("is 4 while an operation is in doubt, even if there are no other changes", async () => {
    await folder.write({ "manifests/a.yaml": manifest(0, "publish: true\n") });
    proxy.choose = ({ path }) => (path === "/api/products" ? { type: "answer-lost" } : undefined);
    const first = await apply();
    expect(first.code).toBe(4);
    expect(first.stderr).toContain("in doubt");
    const again = await apply();
    expect(again.code).toBe(4);
    expect(again.stdout).toContain("? product");
    expect(proxy.seen).toEqual(["GET /api/uploads/0", "POST /api/products"]);
  });

  test("is 5 when a safety limit refuses with its numbers, and the flag overrides the limit", async () => {
    await folder.write({ "manifests/a.yaml": manifest(20) });
    await apply();
    await folder.write({ "manifests/a.yaml": manifest(5) });
    proxy.seen.splice(0);
    const plan = await run("plan");
    expect(plan.stderr).toContain("Apply will refuse this plan");
    const refused = await apply();
    expect(refused.code).toBe(5);
    expect(refused.stderr).toContain("15 of 20 recorded files (75.0 %)");
    expect(proxy.seen).toEqual([]);
    expect((await apply("--max-deletes", "75")).code).toBe(0);
    await folder.write({ "manifests/a.yaml": "draft: 2\nproduct_files: []\n" });
    expect((await apply()).code).toBe(5);
    expect((await apply("--remove-drafts")).code).toBe(0);
    expect(sandbox.state().attachments).toEqual([]);
  });

  test("is 6 when a saved plan is stale, altered, or one of its local files has changed", async () => {
    await folder.write({
      "manifests/a.yaml": "draft: 1\nproduct_files: [{ source: ../a.glb }]\n",
      "a.glb": "first",
    });
    await run("plan", "--out", "plan.json");
    await folder.write({
      "altered.json": (await folder.read("plan.json")).replace('"size": 5', '"size": 6'),
    });
    const altered = await apply("altered.json");
    expect(altered).toMatchObject({ code: 6, stderr: expect.stringContaining("[plan-altered]") });
    await folder.write({ "a.glb": "other" });
    const changed = await apply("plan.json");
    expect(changed).toMatchObject({ code: 6, stderr: expect.stringContaining("a.glb") });
    await folder.write({ "a.glb": "first" });
    expect((await apply("plan.json")).code).toBe(0);
    await folder.write({ "a.glb": "other" });
    expect((await apply()).code).toBe(0);
    await folder.write({ "a.glb": "first" });
    const stale = await apply("plan.json");
    expect(stale).toMatchObject({ code: 6, stderr: expect.stringContaining("[plan-stale]") });
    expect(stale.stderr).toContain("hint: Make the plan again");
  });

  test.each(["SIGINT", "SIGHUP"] as const)(
    "is 130 after an interrupt; every sent request is recorded and the next run does the rest",
    async (signal) => {
      await folder.write({ "manifests/a.yaml": manifest(40) });
      await folder.write({
        "draftsync.yaml": (await folder.read("draftsync.yaml")).replace(
          "limit: 1000, window: 1s",
          "limit: 4, window: 300ms",
        ),
      });
      const running = start(["apply", "--auto-approve"]);
      await expect.poll(() => proxy.seen.length, { timeout: 20_000, interval: 5 }).toBeGreaterThan(3);
      running.kill(signal);
      const { code, stderr } = await running.ended;
      expect(code).toBe(130);
      expect(stderr).toContain("Interrupted");
      const attached = sandbox.state().attachments.length;
      expect(attached).toBe(proxy.seen.length);
      expect(attached).toBeLessThan(40);
      const list = await run("state", "list", "--json");
      expect(JSON.parse(list.stdout).entries).toHaveLength(attached);
      expect((await apply()).code).toBe(0);
      expect(proxy.seen).toHaveLength(40);
      expect(new Set(sandbox.state().attachments.map(({ fileId }) => fileId)).size).toBe(40);
    },
  );
});
