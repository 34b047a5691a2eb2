import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Fault } from "../../support/faulty-proxy.ts";
import type { World } from "../../support/world.ts";
import { startWorld } from "../../support/world.ts";

let world: World;

beforeEach(async () => {
  world = await startWorld();
});
afterEach(() => world.close());

/** Injects these faults, in order, into the matching requests. */
function faultsOf(line: string, faults: readonly (Fault | undefined)[]): void {
  const left = [...faults];
  world.proxy.choose = ({ method, path }) => (`${method} ${path}` === line ? left.shift() : undefined);
}

const attach = "POST /api/drafts/1/product_files";
const confirm = "PATCH /api/drafts/1/product_files/10";

describe("attachment whose response is lost", () => {
  test("confirms an attachment that took effect by an update, without a second POST", async () => {
    await world.write("draft: 1\nproduct_files: [{ file_id: 10, renderer: arnold }]\npublish: true\n");
    faultsOf(attach, [{ type: "answer-lost" }]);
    const { totals } = await world.apply();
    expect(totals).toMatchObject({ done: 2, in_doubt: 0 });
    expect(world.requests()).toEqual([attach, confirm, "POST /api/products"]);
    const { attachments } = await world.ledger.load();
    expect(attachments).toMatchObject([
      { fileId: 10, provenance: { by: "patch" }, attributes: { renderer: "arnold" } },
    ]);
    expect((await world.plan()).changes).toEqual([]);
  });

  test("posts an attachment that never arrived again, after two checks", async () => {
    await world.write("draft: 1\nproduct_files: [{ file_id: 10 }]\n");
    faultsOf(attach, [{ type: "lost" }]);
    expect((await world.apply()).totals).toMatchObject({ done: 1, in_doubt: 0 });
    expect(world.requests()).toEqual([attach, confirm, confirm, attach]);
    expect(world.sandbox.state().attachments).toHaveLength(1);
    expect((await world.plan()).changes).toEqual([]);
  });

  test("settles a local file in the next apply when its second POST is lost too", async () => {
    const manifest = "draft: 1\nproduct_files: [{ source: a.blend, renderer: vray }]\n";
    await world.write(manifest, { "manifests/a.blend": "content" });
    const lost: Fault[] = [{ type: "lost" }, { type: "answer-lost" }];
    world.proxy.choose = ({ method, path }) =>
      `${method} ${path}` === attach
        ? lost.shift()
        : method === "PATCH" && lost.length === 0
          ? { type: "answer", status: 500 }
          : undefined;
    expect((await world.apply()).totals).toMatchObject({ done: 0, in_doubt: 1 });
    world.requests();
    world.proxy.choose = () => undefined;
    expect((await world.apply()).totals).toMatchObject({ done: 1, in_doubt: 0 });
    expect(world.requests()).not.toContain(attach);
    expect((await world.plan()).changes).toEqual([]);
  });

  test("does not publish a draft while one of its attachments cannot be settled", async () => {
    await world.write("draft: 1\nproduct_files: [{ file_id: 10 }]\npublish: true\n");
    const broken = { type: "answer", status: 500 } as const;
    world.proxy.choose = ({ method }) => (method === "GET" ? undefined : broken);
    expect((await world.apply()).totals).toMatchObject({ done: 0, in_doubt: 1, skipped: 1 });
    expect(world.requests().filter((request) => request === attach)).toHaveLength(1);
    const { changes } = await world.plan();
    expect(changes.map(({ action, address }) => `${action} ${address}`)).toEqual([
      "publish drafts/1/product",
      "in_doubt drafts/1/product_files/10",
    ]);
    // While the service fails, nothing is settled, attached or published.
    expect((await world.apply()).totals).toMatchObject({ done: 0, in_doubt: 1, skipped: 1 });
    expect(world.requests()).not.toContain(attach);
  });

  test.each([
    { name: "took effect", fault: { type: "answer-lost" }, posts: 0 },
    { name: "never arrived", fault: { type: "lost" }, posts: 1 },
  ] as const)(
    "settles an attachment that $name in the next apply, before it publishes",
    async ({ fault, posts }) => {
      await world.write("draft: 1\nproduct_files: [{ file_id: 10, renderer: vray }]\npublish: true\n");
      const broken = { type: "answer", status: 500 } as const;
      world.proxy.choose = ({ method }) => (method === "POST" ? fault : broken);
      await world.apply();
      world.requests();
      world.proxy.choose = () => undefined;
      expect((await world.apply()).totals).toMatchObject({ done: 2, in_doubt: 0, skipped: 0 });
      const requests = world.requests();
      expect(requests.filter((request) => request === attach)).toHaveLength(posts);
      expect(requests.at(-1)).toBe("POST /api/products");
      expect(world.sandbox.state().attachments).toMatchObject([
        { fileId: 10, attributes: { renderer: "vray" } },
      ]);
      expect((await world.ledger.load()).inDoubt).toEqual([]);
      expect((await world.plan()).changes).toEqual([]);
    },
  );

  test.each([
    { name: "took effect", fault: { type: "answer-lost" } },
    { name: "never arrived", fault: { type: "lost" } },
  ] as const)(
    "sets what the manifest has by now for an attachment that $name, and clears what was sent besides",
    async ({ fault }) => {
      const broken = { type: "answer", status: 500 } as const;
      await world.write("draft: 1\nproduct_files: [{ file_id: 10, renderer: arnold, file_format: fbx }]\n");
      world.proxy.choose = ({ method }) => (method === "POST" ? fault : broken);
      await world.apply();
      world.proxy.choose = () => undefined;
      await world.write("draft: 1\nproduct_files: [{ file_id: 10, file_format: obj }]\n");
      const { changes } = await world.plan();
      expect(changes).toMatchObject([{ action: "in_doubt", attributes: ["file_format", "renderer"] }]);
      await world.apply();
      const attributes = { file_format: "obj", renderer: "" };
      expect(world.sandbox.state().attachments).toMatchObject([{ attributes }]);
      expect((await world.ledger.load()).attachments.map((each) => each.attributes)).toEqual([
        world.sandbox.state().attachments[0]?.attributes,
      ]);
      expect((await world.plan()).changes).toEqual([]);
    },
  );

  test("settles a detachment in doubt with nothing that the manifest does not have", async () => {
    const manifest = "draft: 1\nproduct_files: [{ file_id: 10, file_format: fbx }]\n";
    await world.write("draft: 1\nproduct_files: [{ file_id: 10, renderer: arnold, file_format: fbx }]\n");
    await world.apply();
    await world.write("draft: 1\nproduct_files: []\n");
    world.proxy.choose = () => ({ type: "answer-lost" });
    await world.apply();
    await world.write(manifest);
    const sent: string[] = [];
    world.proxy.choose = ({ method, body }) => {
      sent.push(`${method} ${body}`);
      return undefined;
    };
    await world.apply();
    expect(sent.join()).not.toContain("arnold");
    const [attachment] = world.sandbox.state().attachments;
    expect(attachment?.attributes).toEqual({ file_format: "fbx" });
  });

  describe.each(["never arrived", "took effect"])(
    "file that is no longer desired and whose attachment %s",
    (how) => {
      const isAttached = how === "took effect";

      beforeEach(async () => {
        await world.write("draft: 1\nproduct_files: [{ file_id: 10 }]\n");
        world.proxy.choose = () => ({ type: "answer", status: 500, carriedOut: isAttached });
        await world.apply();
        world.requests();
        world.proxy.choose = () => undefined;
      });

      test("is settled, and deleted before a publish", async () => {
        await world.write("draft: 1\nproduct_files: []\npublish: true\n");
        expect((await world.apply()).totals).toMatchObject({ done: 1, failed: 0, in_doubt: 0 });
        expect(world.requests()).toEqual(isAttached ? [confirm] : [confirm, confirm]);
        expect((await world.apply()).totals).toMatchObject({ done: isAttached ? 2 : 1 });
        expect(world.requests().filter((line) => !line.startsWith("GET "))).toEqual([
          ...(isAttached ? [`DELETE ${confirm.slice("PATCH ".length)}`] : []),
          "POST /api/products",
        ]);
        expect(world.sandbox.state().attachments).toEqual([]);
        expect((await world.plan()).changes).toEqual([]);
      });

      test("is settled after the settling calls of an earlier run were lost", async () => {
        world.proxy.choose = ({ method }) => (method === "PATCH" ? { type: "lost" } : undefined);
        expect((await world.apply()).totals).toMatchObject({ done: 0, in_doubt: 1 });
        world.proxy.choose = () => undefined;
        await world.write("draft: 1\nproduct_files: []\n");
        await world.apply();
        expect((await world.ledger.load()).inDoubt).toEqual([]);
      });

      test("waits for a person when the manifest omits its list, and so does the publish", async () => {
        await world.write("draft: 1\npublish: true\n");
        await world.apply();
        expect(world.requests()).toEqual([]);
        expect((await world.plan()).changes).toMatchObject([
          { action: "publish" },
          { action: "in_doubt", address: "drafts/1/product_files/10", after: null },
        ]);
      });
    },
  );
});

describe("attachment refused as a conflict", () => {
  test.each([
    ["409", undefined],
    ["422", { type: "answer", status: 422 }],
  ] as const)("adopts a file that is already attached after a %s", async (_status, fault) => {
    world.sandbox.attach({ draftId: 1, kind: "product_file", fileId: 10 }, { renderer: "vray" });
    await world.write("draft: 1\nproduct_files: [{ file_id: 10, renderer: arnold }]\n");
    faultsOf(attach, [fault]);
    expect((await world.apply()).totals).toMatchObject({ done: 1, failed: 0 });
    expect(world.requests()).toEqual([attach, confirm]);
    expect(world.sandbox.state().attachments).toMatchObject([{ attributes: { renderer: "arnold" } }]);
    expect((await world.plan()).changes).toEqual([]);
  });

  test.each([409, 422])(
    "stays in doubt until the next run when the adopting PATCH after a %i is lost",
    async (status) => {
      world.sandbox.attach({ draftId: 1, kind: "product_file", fileId: 10 }, { renderer: "vray" });
      await world.write("draft: 1\nproduct_files: [{ file_id: 10, renderer: arnold }]\n");
      const refused = { type: "answer", status } as const;
      world.proxy.choose = ({ method }) => (method === "POST" ? refused : { type: "lost" });
      expect((await world.apply()).totals).toMatchObject({ done: 0, failed: 0, in_doubt: 1 });
      world.proxy.choose = () => undefined;
      world.requests();
      await world.write("draft: 1\nproduct_files: []\npublish: true\n");
      expect((await world.apply()).totals).toMatchObject({ done: 1, in_doubt: 0 });
      expect(world.requests()).toEqual([confirm]);
      // The file was attached before this ledger, so the draft may be published as well.
      expect([...(await world.ledger.load()).maybePublished.keys()]).toEqual([1]);
      expect(world.sandbox.state().products).toEqual([]);
    },
  );

  test("settles a conflict in the next run when the run stops before checking it", async () => {
    await world.write("draft: 1\nproduct_files: [{ file_id: 10 }]\n");
    const stop = new AbortController();
    world.proxy.choose = ({ method }) => {
      if (method === "POST") stop.abort();
      return method === "POST" ? { type: "answer", status: 409, carriedOut: true } : undefined;
    };
    expect((await world.apply(stop.signal)).totals).toMatchObject({ done: 0, in_doubt: 1 });
    expect(world.requests()).toEqual([attach]);
    expect((await world.apply()).totals).toMatchObject({ done: 1, in_doubt: 0 });
    expect(world.requests()).toEqual([confirm]);
    expect(world.sandbox.state().attachments).toHaveLength(1);
    expect((await world.plan()).changes).toEqual([]);
  });

  test.each([409, 422])("fails without doubt when the file is not attached after a %i", async (status) => {
    await world.write("draft: 1\nproduct_files: [{ file_id: 10 }]\n");
    faultsOf(attach, [{ type: "answer", status }]);
    expect((await world.apply()).totals).toMatchObject({ failed: 1, in_doubt: 0 });
    expect((await world.plan()).changes.map(({ action }) => action)).toEqual(["create"]);
  });
});

describe("rate-limited attachment", () => {
  const slowDown = { type: "answer", status: 429 } as const;

  test("fails without doubt after three POSTs", async () => {
    await world.write("draft: 1\nproduct_files: [{ file_id: 10 }]\n");
    faultsOf(attach, [slowDown, slowDown, slowDown, slowDown]);
    expect((await world.apply()).totals).toMatchObject({ done: 0, failed: 1, in_doubt: 0 });
    expect(world.requests().filter((request) => request === attach)).toHaveLength(3);
    expect((await world.ledger.load()).inDoubt).toEqual([]);
  });
});

describe.each([
  {
    what: "a publication",
    manifest: "draft: 1\npublish: true\n",
    address: "drafts/1/product",
    line: "POST /api/products",
    read: "GET /api/uploads/0",
  },
  {
    what: "a duplicate",
    manifest: "duplicates: [{ name: copy, product: 5 }]\n",
    address: "duplicates/copy",
    line: "POST /api/products/5/duplicate",
    read: "GET /api/uploads/0",
  },
])("$what", ({ manifest, address, line, read }) => {
  test.each<{ name: string; fault: Fault }>([
    { name: "lost response", fault: { type: "answer-lost" } },
    { name: "lost request", fault: { type: "lost" } },
    { name: "200 without an id", fault: { type: "answer", status: 200, body: "{}" } },
  ])("is in doubt and never sent again after a $name", async ({ fault }) => {
    await world.write(manifest);
    faultsOf(line, [fault]);
    expect((await world.apply()).totals).toMatchObject({ done: 0, in_doubt: 1 });
    expect(world.requests()).toEqual([read, line]);
    const plan = await world.plan();
    expect(plan.changes.map(({ action }) => action)).toEqual(["in_doubt"]);
    expect(plan.changes[0]?.address).toBe(address);
    expect((await world.apply()).totals).toMatchObject({ done: 0, in_doubt: 1 });
    expect(world.requests()).toEqual([]);
  });
});

test("shows the product of a 202 to a publish in the plan", async () => {
  await world.write("draft: 1\npublish: true\n");
  const body = '{"data":{"type":"product","id":"771200"}}';
  faultsOf("POST /api/products", [{ type: "answer", status: 202, body }]);
  await world.apply();
  expect((await world.plan()).changes).toMatchObject([
    { action: "in_doubt", before: { detail: expect.stringContaining("it names product 771200") } },
  ]);
});

test.each([
  ["update", "draft: 1\nproduct_files: [{ file_id: 10, renderer: b }]\n", "PATCH"],
  ["detachment", "draft: 1\nproduct_files: []\n", "DELETE"],
])(
  "sends the %s of a file at most twice when every response is about another file",
  async (_kind, manifest, method) => {
    await world.write("draft: 1\nproduct_files: [{ file_id: 10, renderer: a, file_format: fbx }]\n");
    await world.apply();
    world.requests();
    await world.write(manifest.replace("renderer: b", "renderer: b, file_format: fbx"));
    const bodies: string[] = [];
    const body = '{"data":{"type":"product_file","id":"1","attributes":{"file_id":11}}}';
    world.proxy.choose = (request) => {
      if (request.method !== method) return undefined;
      bodies.push(request.body);
      return { type: "answer", status: 200, body };
    };
    expect((await world.apply()).totals).toMatchObject({ done: 0, in_doubt: 1 });
    expect(bodies).toHaveLength(2);
    if (method === "PATCH") {
      expect(bodies.map((sent) => sent.includes("file_format"))).toEqual([false, true]);
    }
    world.proxy.choose = () => undefined;
    expect((await world.apply()).totals).toMatchObject({ done: 1, in_doubt: 0 });
    expect((await world.ledger.load()).inDoubt).toEqual([]);
  },
);

describe("repeatable write", () => {
  test("sends an update again in the next apply when every response was lost", async () => {
    await world.write("draft: 1\nproduct_files: [{ file_id: 10, renderer: a }]\n");
    await world.apply();
    await world.write("draft: 1\nproduct_files: [{ file_id: 10, renderer: b }]\n");
    world.proxy.choose = ({ method }) => (method === "PATCH" ? { type: "answer-lost" } : undefined);
    expect((await world.apply()).totals).toMatchObject({ in_doubt: 1 });
    world.proxy.choose = () => undefined;
    // The manifest is reverted, but the state at the service is unknown, so the update is sent.
    await world.write("draft: 1\nproduct_files: [{ file_id: 10, renderer: a }]\n");
    expect((await world.plan()).changes.map(({ action }) => action)).toEqual(["update"]);
    expect((await world.apply()).totals).toMatchObject({ done: 1, in_doubt: 0 });
    expect(world.sandbox.state().attachments).toMatchObject([{ attributes: { renderer: "a" } }]);
    expect((await world.ledger.load()).inDoubt).toEqual([]);
    expect((await world.plan()).changes).toEqual([]);
  });

  test("repeats a detachment whose response is lost, and accepts 404 as done", async () => {
    await world.write("draft: 1\nproduct_files: [{ file_id: 10 }]\n");
    await world.apply();
    await world.write("draft: 1\nproduct_files: []\n");
    const line = "DELETE /api/drafts/1/product_files/10";
    faultsOf(line, [{ type: "answer-lost" }]);
    world.requests();
    expect((await world.apply()).totals).toMatchObject({ done: 1, in_doubt: 0 });
    expect(world.requests()).toEqual([line, line]);
    expect((await world.ledger.load()).attachments).toEqual([]);
  });
});

test.each([
  { what: "a publication", manifest: "draft: 2\npublish: true\n", address: "drafts/2/product" },
  { what: "a duplicate", manifest: "duplicates: [{ name: copy, product: 5 }]\n", address: "duplicates/copy" },
])(
  "leaves $what in doubt when the response names a product that has a different address",
  async ({ manifest, address }) => {
    await world.write("draft: 1\npublish: true\n");
    await world.apply();
    const [first] = (await world.ledger.load()).publications;
    const data = { type: "product", id: String(first?.productId) };
    world.proxy.choose = ({ method }) =>
      method === "POST"
        ? { type: "answer", carriedOut: true, status: 201, body: JSON.stringify({ data }) }
        : undefined;
    await world.write(`draft: 1\npublish: true\n---\n${manifest}`);
    expect((await world.apply()).totals).toMatchObject({ done: 0, in_doubt: 1 });
    expect((await world.ledger.load()).inDoubt).toMatchObject([
      { address, detail: expect.stringContaining("it names the product of drafts/1/product") },
    ]);
  },
);

test("attaches nothing when the response to a registration names an upload with a different object", async () => {
  const data = { type: "upload", id: "u1", attributes: { status: "success", file_id: 900 } };
  world.proxy.choose = ({ method, path }) =>
    method === "POST" && path === "/api/uploads"
      ? { type: "answer", carriedOut: false, status: 201, body: JSON.stringify({ data }) }
      : undefined;
  const first = "draft: 1\nproduct_files: [{ upload_key: one }]\n";
  await world.write(first);
  expect((await world.apply()).totals).toMatchObject({ done: 1, failed: 0 });
  await world.write(`${first}---\ndraft: 2\nproduct_files: [{ upload_key: two }]\npublish: true\n`);
  expect((await world.apply()).totals).toMatchObject({ done: 0, failed: 1, skipped: 1 });
  expect(world.sandbox.state()).toMatchObject({ attachments: { length: 1 }, products: { length: 0 } });
  expect((await world.ledger.load()).uploads).toMatchObject([{ uploadId: "u1", uploadKey: "one" }]);
});
