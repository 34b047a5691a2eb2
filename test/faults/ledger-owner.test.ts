import { createServer } from "node:http";
import { describe, expect, onTestFinished, test } from "vitest";
import { draftsync } from "../support/cli.ts";
import { listenLocally, unusedPort } from "../support/listen.ts";
import { useWorkspace } from "../support/workspace.ts";

const { proxy, sandbox, folder, options, run, apply } = useWorkspace({
  files: { "manifests/a.yaml": "draft: 1\nproduct_files: [{ file_id: 1 }]\n", "a.glb": "content" },
});

/** A server that is not the service. */
async function startStranger(status: number, type: string, body: string): Promise<string> {
  const server = createServer((_request, response) => {
    response.writeHead(status, { "content-type": type }).end(body);
  });
  const port = await listenLocally(server);
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${port}`;
}

async function boundTo(): Promise<string | undefined> {
  const { stdout } = await run("state", "export");
  return JSON.parse(stdout).service_origin ?? undefined;
}

describe("ledger that was used with a wrong address", () => {
  const strangers = [
    { what: "a port where nothing listens", url: async () => `http://127.0.0.1:${await unusedPort()}` },
    { what: "a web page", url: () => startStranger(404, "text/html", "<html>not here</html>") },
    { what: "a web page with status 200", url: () => startStranger(200, "text/html", "<html>hello</html>") },
    {
      what: "another service that refuses the key",
      url: () => startStranger(401, "application/vnd.api+json", '{"errors":[{"status":"401"}]}'),
    },
  ];
  test.each(strangers)("is confirmed only for the right address, after $what", async ({ url }) => {
    await folder.write({ "manifests/a.yaml": "draft: 1\npublish: true\nproduct_files: [{ file_id: 1 }]\n" });
    await apply("--base-url", await url());
    const unconfirmed = { ...options(), confirmsLedger: false };
    expect((await draftsync(["apply", "--auto-approve"], unconfirmed)).code).toBe(5);
    expect(sandbox.state().products).toEqual([]);
    expect((await apply()).code).toBe(0);
    expect(sandbox.state().products).toHaveLength(1);
  });

  test("is bound by an upload that the service returned", async () => {
    await folder.write({ "manifests/a.yaml": "draft: 1\nproduct_files: [{ upload_id: u-1 }]\n" });
    const attributes = { status: "success", file_id: 900 };
    const data = { type: "upload", id: "u-1", attributes };
    proxy.choose = ({ method, path }) => {
      const headers = { "content-type": "application/vnd.api+json" };
      if (method === "POST")
        return { type: "answer", status: 404, headers, body: '{"errors":[{"status":"404"}]}' };
      const body = JSON.stringify({ data: path.includes("?") ? [data] : data });
      return { type: "answer", status: 200, headers, body };
    };
    expect((await apply()).code).toBe(3);
    proxy.choose = () => undefined;
    expect(await boundTo()).toMatch(/^http:\/\/127/);
  });

  test.each(strangers)("is not bound by $what, and works with the right address", async ({ url }) => {
    const wrong = await url();
    expect((await apply("--base-url", wrong)).code).not.toBe(0);
    await run("import", "--all", "--base-url", wrong);
    await run("uploads", "create", "--key", "x", "--base-url", wrong);
    expect(await boundTo()).toBeUndefined();
    expect((await apply()).code).toBe(0);
    expect(sandbox.state().attachments).toHaveLength(1);
    expect(await boundTo()).toMatch(/^http:\/\/127/);
  });
});

describe("state rebind", () => {
  /** The same service under another name. */
  const renamed = async () => (await boundTo())?.replace("127.0.0.1", "localhost") ?? "";

  test("moves the ledger to a new address of the same service", async () => {
    await apply();
    const url = await renamed();
    const refused = await run("plan", "--base-url", url);
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("[ledger-owner-mismatch]") });
    expect(refused.stderr).toContain("draftsync state rebind");
    const unasked = await run("state", "rebind", "--base-url", url);
    expect(unasked).toMatchObject({ code: 1, stderr: expect.stringContaining("[approval-needed]") });
    proxy.seen.splice(0);
    const moved = await run("state", "rebind", "--base-url", url, "--auto-approve");
    expect(moved).toMatchObject({ code: 0, stderr: expect.stringContaining(url) });
    expect(proxy.seen).toEqual([]);
    expect(await run("plan", "--base-url", url)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("No changes"),
    });
    expect(await run("plan")).toMatchObject({ stderr: expect.stringContaining("[ledger-owner-mismatch]") });
    expect((await run("history")).stdout).toContain("state rebind");
    const again = await run("state", "rebind", "--base-url", url, "--auto-approve");
    expect(again).toMatchObject({ code: 0, stderr: expect.stringContaining("already") });
  });

  test("refuses an unbound ledger, the ledger of a different workspace, and the sandbox", async () => {
    await apply("--base-url", `http://127.0.0.1:${await unusedPort()}`);
    const unbound = await run("state", "rebind", "--auto-approve");
    expect(unbound).toMatchObject({ code: 1, stderr: expect.stringContaining("[not-rebindable]") });
    await apply();
    const config = await folder.read("draftsync.yaml");
    await folder.write({ "other.yaml": config.replace("workspace: w", "workspace: other") });
    const other = await run("state", "rebind", "--config", "other.yaml", "--auto-approve");
    expect(other).toMatchObject({ code: 1, stderr: expect.stringContaining("[ledger-owner-mismatch]") });
    await folder.write({ "local.yaml": "version: 1\nworkspace: w\nservice: sandbox\n" });
    const local = await run("state", "rebind", "--config", "local.yaml", "--auto-approve");
    expect(local).toMatchObject({ code: 1, stderr: expect.stringContaining("[not-rebindable]") });
  });
});
