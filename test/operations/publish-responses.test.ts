import { describe, expect, test } from "vitest";
import type { Fault } from "../support/faulty-proxy.ts";
import { useWorkspace } from "../support/workspace.ts";

const { sandbox, proxy, run, apply } = useWorkspace({
  sections: "reconcile: { allow: [publish] }\n",
  files: { "manifests/a.yaml": "draft: 48213\npublish: true\n" },
});

const html = { body: "<html><title>Sign in</title></html>", headers: { "content-type": "text/html" } };
const portal: Fault = { type: "answer", status: 200, ...html };

/** Every publish takes effect and gets this response. */
function answerPublishes(fault: Omit<Extract<Fault, { type: "answer" }>, "type">): void {
  proxy.choose = ({ method, path }) =>
    method === "POST" && path.startsWith("/api/products")
      ? { type: "answer", carriedOut: true, ...fault }
      : undefined;
}

const writes = () => proxy.seen.filter((request) => !request.startsWith("GET"));

describe("publish that took effect", () => {
  test.each([
    ["303", { status: 303, headers: { location: "/api/products/1" } }],
    ["403 with an HTML body", { status: 403, ...html }],
    ["451 with a JSON:API error", { status: 451, body: '{"errors":[{"title":"no"}]}' }],
  ])("is sent once by four applies when the service returns %s", async (_name, answer) => {
    answerPublishes(answer);
    for (const _apply of [1, 2, 3, 4]) expect((await apply()).code).toBe(4);
    expect(writes()).toEqual(["POST /api/products"]);
    const { products } = sandbox.state();
    expect(products).toHaveLength(1);
    const id = String(products[0]?.id);
    expect(await run("resolve", "drafts/48213/product", "--product-id", id)).toMatchObject({ code: 0 });
    expect((await run("plan")).stdout).toContain("No changes.");
    expect((await apply()).code).toBe(0);
    expect(writes()).toEqual(["POST /api/products"]);
  });

  test("is in doubt and not recorded when the response names another draft", async () => {
    const draft = { data: { type: "draft", id: "999" } };
    const body = JSON.stringify({ data: { type: "product", id: "5", relationships: { draft } } });
    answerPublishes({ status: 201, body });
    const { code, stdout, stderr } = await apply();
    expect({ code, text: stdout + stderr }).toMatchObject({
      code: 4,
      text: expect.stringContaining("[response-mismatch]"),
    });
    expect(stdout + stderr).toContain("draftsync resolve drafts/48213/product --product-id ID");
    expect((await run("state", "show", "drafts/48213/product")).stdout).not.toContain("product 5");
  });

  test("is in doubt when `products duplicate` gets a redirect", async () => {
    answerPublishes({ status: 303 });
    const { code, stderr } = await run("products", "duplicate", "771200", "--auto-approve");
    expect({ code, stderr }).toMatchObject({ code: 4, stderr: expect.stringContaining("[redirect]") });
    expect(stderr).toContain("draftsync resolve products/771200/duplicate --product-id ID");
    expect(proxy.seen).toEqual(["GET /api/uploads/0", "POST /api/products/771200/duplicate"]);
    proxy.choose = () => undefined;
    proxy.seen.length = 0;
    const again = await run("products", "duplicate", "771200", "--auto-approve");
    expect(again).toMatchObject({ code: 4, stderr: expect.stringContaining("[operation-in-doubt]") });
    expect(proxy.seen).toEqual([]);
    expect((await run("resolve", "products/771200/duplicate", "--not-done")).code).toBe(0);
    expect((await run("products", "duplicate", "771200", "--auto-approve")).code).toBe(0);
  });

  test("is in doubt when `products duplicate` gets the product of a draft", async () => {
    expect((await apply()).code).toBe(0);
    const [product] = sandbox.state().products;
    const body = JSON.stringify({ data: { type: "product", id: String(product?.id) } });
    answerPublishes({ status: 201, body });
    const { code, stderr } = await run("products", "duplicate", "771200", "--auto-approve");
    expect({ code, stderr }).toMatchObject({
      code: 4,
      stderr: expect.stringContaining("[response-mismatch]"),
    });
  });

  test("is not imported when the product names another draft", async () => {
    const draft = { data: { type: "draft", id: "999" } };
    const body = JSON.stringify({ data: { type: "product", id: "7777", relationships: { draft } } });
    proxy.choose = ({ path }) =>
      path === "/api/products/7777" ? { type: "answer", status: 200, body } : undefined;
    const { code, stdout } = await run("import", "drafts/48213/product=7777");
    expect({ code, stdout }).toMatchObject({ code: 1, stdout: expect.stringContaining("draft 999") });
    expect((await run("plan")).stdout).toContain("! product");
  });
});

describe("captive portal", () => {
  test.each([
    ["apply", ["apply", "--auto-approve"], 1],
    ["products duplicate", ["products", "duplicate", "771200", "--auto-approve"], 1],
  ] as const)(
    "`%s` sends no publish or duplicate, reports why, and leaves nothing in doubt",
    async (_name, args, exit) => {
      proxy.choose = () => portal;
      const { code, stdout, stderr } = await run(...args);
      expect({ code, text: stdout + stderr }).toMatchObject({
        code: exit,
        text: expect.stringContaining("[service-not-confirmed]"),
      });
      expect(writes()).toEqual([]);
      expect((await run("plan")).stdout).toContain("! product");
      proxy.choose = () => undefined;
      expect((await apply()).code).toBe(0);
      expect(sandbox.state().products).toHaveLength(1);
    },
  );

  test("reconcile publishes nothing", async () => {
    proxy.choose = () => portal;
    const { code } = await run("reconcile");
    expect(code).not.toBe(0);
    expect(writes()).toEqual([]);
  });
});
