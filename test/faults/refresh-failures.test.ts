import { beforeEach, describe, expect, test } from "vitest";
import { probes, writes } from "../support/by-hand.ts";
import type { Fault } from "../support/faulty-proxy.ts";
import { useWorkspace } from "../support/workspace.ts";

const manifest = `draft: 1
product_files:
  - { file_id: 11, renderer: arnold }
  - { file_id: 12, renderer: arnold }
publish: true
`;
const { sandbox, proxy, folder, arrivals, run, apply, start } = useWorkspace({
  files: { "manifests/a.yaml": manifest },
  service: { timeout: "10m", rate: "{ limit: 1000, window: 100ms }" },
  sections: "refresh: { attachments: probe }\n",
});

beforeEach(async () => {
  expect((await apply()).code).toBe(0);
  arrivals.length = 0;
  proxy.seen.splice(0);
});

/** The exported ledger. */
async function ledger(): Promise<{ serial: number; attachments: unknown; operations: Operation[] }> {
  return JSON.parse((await run("state", "export")).stdout);
}

interface Operation {
  readonly kind: string;
  readonly outcome?: string;
  readonly settled?: { readonly as: string };
}

describe("refresh that cannot read a resource", () => {
  const html = { "content-type": "text/html" };

  test("creates and deletes nothing, whatever the service returns", async () => {
    const before = await ledger();
    const unavailable: Fault = { type: "answer", status: 503 };
    const page: Fault = { type: "answer", status: 404, headers: html, body: "<html>nginx</html>" };
    const garbage: Fault = { type: "answer", status: 200, body: '{"data":[]}' };
    const lost: Fault = { type: "lost" };
    for (const [first, second] of [
      [unavailable, page],
      [garbage, lost],
    ]) {
      proxy.choose = ({ path }) => (path.endsWith("/11") ? first : second);
      const { code, stdout, stderr } = await apply();
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining("[nothing-checked]") });
      expect((await run("plan")).code).toBe(1);
      for (const message of ["No changes.", "3 could not be read", "(and 2 more) could not be read"])
        expect(stdout).toContain(message);
      expect(stdout).not.toContain("Drift");
    }
    expect(writes(arrivals)).toEqual([]);
    expect(sandbox.state().attachments).toHaveLength(2);
    expect((await ledger()).attachments).toEqual(before.attachments);
  });

  test("keeps a draft from being published until its files can be read", async () => {
    await folder.write({ "manifests/a.yaml": manifest.replace("true", "{ revision: 2 }") });
    proxy.choose = ({ path }) => (path.endsWith("/11") ? { type: "answer", status: 503 } : undefined);
    expect((await run("plan", "--detailed-exitcode")).code).toBe(2);
    expect(await apply()).toMatchObject({ code: 7, stdout: expect.stringContaining("[waits-for-check]") });
    expect(sandbox.state().products).toHaveLength(1);
    proxy.choose = () => undefined;
    expect((await apply()).code).toBe(0);
    expect(sandbox.state().products).toHaveLength(2);
  });

  test("ends plan and apply with a hint when the key is refused", async () => {
    const before = await ledger();
    proxy.choose = () => ({ type: "answer", status: 401 });
    for (const args of [["plan"], ["apply", "--auto-approve"]]) {
      const { code, stdout, stderr } = await run(...args);
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
      expect(stderr).toContain("the service could not be checked");
      expect(stderr).toContain("the service does not accept the key (401)");
      expect(stderr).toContain("Check DRAFTSYNC_API_KEY");
      expect(stderr).toContain("--refresh none");
    }
    expect(await ledger()).toEqual(before);
    expect((await run("plan", "--refresh", "none")).code).toBe(0);
  });

  test("changes nothing after an interrupt, and releases the lock", async () => {
    const before = await ledger();
    proxy.choose = () => ({ type: "answer-held" });
    proxy.seen.splice(0);
    const running = start(["apply", "--auto-approve"]);
    await expect.poll(() => proxy.seen.length, { timeout: 60_000 }).toBe(3);
    running.kill("SIGINT");
    const { code, stderr } = await running.ended;
    expect(code).toBe(130);
    expect(stderr).toContain("did not complete within 5 s: aborting them.");
    expect(stderr).toContain("interrupted while checking the service; nothing was changed");
    expect(proxy.seen).toHaveLength(3);
    expect(await ledger()).toEqual(before);
    expect((await run("lock", "status")).stdout).toBe("Not locked.\n");
  });
});

describe("call in doubt", () => {
  test("is settled by a refresh when the attachment took effect", async () => {
    await folder.write({
      "manifests/a.yaml": manifest.replace("publish", "  - { file_id: 13, renderer: vray }\npublish"),
    });
    proxy.choose = ({ method, body }) => {
      if (method === "POST") return { type: "answer-lost" };
      return body.includes("vray") ? { type: "lost" } : undefined;
    };
    expect((await apply()).code).toBe(4);
    expect(sandbox.state().attachments).toHaveLength(3);
    proxy.choose = () => undefined;
    arrivals.length = 0;
    const { code, stdout } = await apply();
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining("No changes.") });
    // Calls that leave together may arrive in any order.
    expect(probes(arrivals)).toContain("/api/drafts/1/product_files/13");
    expect(writes(arrivals)).toEqual([]);
    const { operations } = await ledger();
    expect(operations.filter(({ kind }) => kind === "attach").at(-1)).toMatchObject({
      outcome: "unknown",
      settled: { as: "done" },
    });
  });

  test("is settled by a refresh for one detach that took effect and one that did not", async () => {
    await folder.write({ "manifests/a.yaml": "draft: 1\nproduct_files: []\n" });
    proxy.choose = ({ method, path }) => {
      if (method !== "DELETE") return undefined;
      return path.endsWith("/11") ? { type: "answer-lost" } : { type: "lost" };
    };
    // All attempts are lost: a 404 to the second one would settle the detach.
    expect((await apply()).code).toBe(4);
    expect(sandbox.state().attachments.map(({ fileId }) => fileId)).toEqual([12]);
    proxy.choose = () => undefined;
    arrivals.length = 0;
    expect((await apply()).code).toBe(0);
    expect(writes(arrivals)).toEqual(["DELETE /api/drafts/1/product_files/12 {}"]);
    const { operations } = await ledger();
    const doubts = operations.filter(({ outcome }) => outcome === "unknown");
    expect(doubts.map((doubt) => doubt.settled?.as).sort()).toEqual(["done", "not_sent"]);
  });
});
