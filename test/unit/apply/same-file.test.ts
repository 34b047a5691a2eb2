import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Fault } from "../../support/faulty-proxy.ts";
import { answerRegistration } from "../../support/registrations.ts";
import type { World } from "../../support/world.ts";
import { startWorld } from "../../support/world.ts";

let world: World;
const source = "draft: 1\nproduct_files: [{ source: ../a.glb }]\npublish: true\n";
const byId = (fileId: number) => `draft: 1\nproduct_files: [{ file_id: ${fileId} }]\npublish: true\n`;

beforeEach(async () => {
  world = await startWorld();
  await world.write(source, { "a.glb": "content" });
  await world.apply();
  world.requests();
});
afterEach(() => world.close());

function attachedFile(): number {
  return world.sandbox.state().attachments[0]?.fileId ?? 0;
}

test("makes no call when a manifest names a file by its id instead of its source, and back", async () => {
  const fileId = attachedFile();
  await world.write(byId(fileId));
  expect((await world.plan()).changes.map(({ action }) => action)).toEqual(["adopt"]);
  await world.apply();
  await world.write(source);
  expect((await world.plan()).changes.map(({ action }) => action)).toEqual(["adopt"]);
  await world.apply();
  expect((await world.plan()).changes).toEqual([]);
  expect(world.requests()).toEqual([]);
  expect(world.sandbox.state().attachments).toHaveLength(1);
});

test("does not detach a file that an upload of the same plan turns out to be", async () => {
  const fileId = attachedFile();
  const [upload] = (await world.ledger.load()).uploads;
  // The ledger knows the file by its id alone, and the upload only as registered.
  await world.ledger.record([
    {
      type: "attached",
      attachment: {
        draftId: 1,
        kind: "product_files",
        fileId,
        address: `drafts/1/product_files/${fileId}`,
        attributes: {},
        provenance: { by: "post", at: 0 },
      },
    },
    {
      type: "upload_registered",
      uploadId: upload?.uploadId ?? "",
      uploadKey: upload?.uploadKey ?? "",
      source: "a.glb",
      sha256: upload?.sha256 ?? "",
      size: 7,
      at: 0,
    },
  ]);
  expect((await world.plan()).summary).toMatchObject({ create: 1, delete: 1 });
  expect((await world.apply()).totals).toMatchObject({ done: 2, failed: 0 });
  expect(world.requests().filter((request) => request.startsWith("DELETE"))).toEqual([]);
  expect(world.sandbox.state().attachments).toMatchObject([{ fileId }]);
  expect((await world.plan()).changes).toEqual([]);
});

describe("upload that turns out to be the file of a different entry", () => {
  const list = (...entries: string[]) => `draft: 2\nproduct_files: [${entries.join(", ")}]\npublish: true\n`;
  const byId = "{ file_id: 10, renderer: vray }";
  const byKey = "{ upload_key: in/a, renderer: arnold }";
  const failure = { code: "same-file-attached" };
  const end = (address: string) =>
    world.events.find((event) => event.type === "change_finished" && event.address === address);
  const key = "drafts/2/product_files/upload_key:in/a";

  beforeEach(() => {
    world.proxy.choose = (request) => answerRegistration(request, () => 10);
  });

  /** The draft is published only when one of the entries is removed; otherwise the attributes of one would be lost. */
  async function expectNextRunsToWork(): Promise<void> {
    const plan = await world.plan();
    expect(plan.diagnostics).toMatchObject([{ code: "same-file-twice", severity: "error" }]);
    expect(plan.diagnostics[0]?.message).toContain("with other attributes: renderer");
    await world.write(list(byId));
    expect((await world.apply()).totals).toMatchObject({ failed: 0, skipped: 0 });
    expect((await world.plan()).changes).toEqual([]);
    const { attachments, products } = world.sandbox.state();
    expect(attachments.filter(({ draftId }) => draftId === 2)).toMatchObject([
      { fileId: 10, attributes: { renderer: "vray" } },
    ]);
    expect(products.filter(({ draftId }) => draftId === 2)).toHaveLength(1);
  }

  test("fails when the other entry is already attached, and keeps its attributes", async () => {
    await world.write(list(byId).replace("publish: true\n", ""));
    await world.apply();
    await world.write(list(byId, byKey));
    await world.apply();
    expect(end(key)).toMatchObject({ outcome: "rejected", failure });
    expect(end("drafts/2/product")).toMatchObject({ outcome: "skipped" });
    await expectNextRunsToWork();
  });

  test("fails when both entries are new", async () => {
    await world.write(list(byId, byKey));
    await world.apply();
    expect(end(key)).toMatchObject({ outcome: "rejected", failure });
    expect(end("drafts/2/product_files/10")).toMatchObject({ outcome: "done" });
    await expectNextRunsToWork();
  });

  test("fails for the second of two uploads of one file, and later plans work", async () => {
    await world.write(list(byKey, "{ upload_key: in/b }"));
    await world.apply();
    expect(end(key)).toMatchObject({ outcome: "done" });
    expect(end("drafts/2/product_files/upload_key:in/b")).toMatchObject({ outcome: "rejected", failure });
    expect((await world.plan()).diagnostics).toMatchObject([{ code: "same-file-twice" }]);
    expect((await world.apply()).totals).toMatchObject({ failed: 0, skipped: 0 });
    expect((await world.plan()).changes).toEqual([]);
  });
});

describe("the upload of a new entry that returns a recorded file", () => {
  const entry = (key: string, renderer: string) =>
    `draft: 2\nproduct_files: [{ upload_key: in/${key}, renderer: ${renderer} }]\n`;

  /** Answers the registrations of uploads with these files. */
  function answerUploads(fileOf: (uploadKey: string) => number): void {
    world.proxy.choose = (request) => answerRegistration(request, fileOf);
  }

  beforeEach(async () => {
    answerUploads(() => 10);
    await world.write(entry("a", "arnold"));
    await world.apply();
    world.requests();
  });

  /** Applies the manifest in a run whose updates of files are answered so. */
  async function failUpdate(answer: Fault, manifest: string): Promise<void> {
    const { choose } = world.proxy;
    world.proxy.choose = (request) => (request.method === "PATCH" ? answer : choose(request));
    await world.write(manifest);
    await world.apply();
    world.proxy.choose = choose;
  }

  const refused = { type: "answer", status: 403, headers: {}, body: "" } as const;
  const attachedFile = () => world.sandbox.state().attachments.find(({ draftId }) => draftId === 2);
  const productsOfDraft = () => world.sandbox.state().products.filter(({ draftId }) => draftId === 2);

  test.each(["arnold", "vray"])("updates the file to %s and attaches nothing", async (renderer) => {
    await world.write(entry("b", renderer));
    expect((await world.apply()).totals).toMatchObject({ done: 2, failed: 0 });
    const calls = ["PATCH /api/drafts/2/product_files/10"];
    expect(world.requests().filter((request) => request.includes("/drafts/2/"))).toEqual(calls);
    const [attachment] = (await world.ledger.load()).attachments.filter(({ draftId }) => draftId === 2);
    expect(attachment).toMatchObject({
      address: "drafts/2/product_files/upload_key:in/b",
      attributes: { renderer },
    });
    expect((await world.plan()).changes).toEqual([]);
  });

  test("keeps no value that the plan showed as deleted, and says that the file was not detached", async () => {
    await world.write("draft: 2\nproduct_files: [{ upload_key: in/b, file_format: fbx }]\npublish: true\n");
    expect((await world.apply()).totals).toMatchObject({ done: 3, failed: 0 });
    expect(attachedFile()).toMatchObject({ fileId: 10, attributes: { file_format: "fbx", renderer: "" } });
    expect(world.events).toContainEqual(
      expect.objectContaining({ type: "change_finished", action: "delete", stays_attached: true }),
    );
    expect((await world.plan()).changes).toEqual([]);
  });

  test.each([
    ["was lost", { type: "answer-lost" }],
    ["was refused", refused],
  ] as const)(
    "brings no value back that the plan showed as deleted when the update %s",
    async (_, answer) => {
      await failUpdate(answer, "draft: 2\nproduct_files: [{ upload_key: in/b }]\npublish: true\n");
      expect(productsOfDraft()).toEqual([]);
      expect((await world.plan()).changes).toContainEqual(
        expect.objectContaining({
          address: "drafts/2/product_files/upload_key:in/b",
          attributes: ["renderer"],
        }),
      );
      await world.apply();
      expect(productsOfDraft()).toHaveLength(1);
      expect(attachedFile()).toMatchObject({ fileId: 10, attributes: { renderer: "" } });
      expect((await world.plan()).changes).toEqual([]);
    },
  );

  test("puts a file back that its entry has lost in a run whose update was refused", async () => {
    await failUpdate(refused, "draft: 2\nproduct_files: [{ upload_key: in/b }]\n");
    await world.write("draft: 2\nproduct_files: [{ upload_key: in/a }]\n");
    await world.apply();
    expect(attachedFile()).toMatchObject({ fileId: 10, attributes: { renderer: "arnold" } });
    expect((await world.plan()).changes).toEqual([]);
  });

  test("shows a file that left its entry, once that names it by its id, and then as the entry's own", async () => {
    await failUpdate(refused, "draft: 2\nproduct_files: [{ upload_key: in/b }]\n");
    await world.write("draft: 2\nproduct_files: [{ file_id: 10 }]\npublish: true\n");
    expect((await world.plan()).changes).toContainEqual(
      expect.objectContaining({
        action: "adopt",
        before: expect.objectContaining({ renderer: "arnold" }),
        after: { file_id: 10 },
      }),
    );
    await world.apply();
    const [file] = (await world.ledger.load()).attachments.filter(({ draftId }) => draftId === 2);
    expect(file).not.toHaveProperty("formerAddress");
    expect((await world.plan()).changes).toEqual([]);
  });

  test("publishes nothing when a detach in doubt has removed the file", async () => {
    const { choose } = world.proxy;
    world.proxy.choose = (request) =>
      request.method === "DELETE"
        ? { type: "answer-lost" }
        : request.method === "PATCH"
          ? { type: "lost" }
          : choose(request);
    await world.write("draft: 2\nproduct_files: []\n");
    expect((await world.apply()).totals).toMatchObject({ in_doubt: 1 });
    world.proxy.choose = choose;
    await world.write(`${entry("b", "arnold")}publish: true\n`);
    await world.apply();
    expect(productsOfDraft()).toEqual([]);
    await world.apply();
    expect(productsOfDraft()).toHaveLength(1);
    expect(world.sandbox.state().attachments).toContainEqual(
      expect.objectContaining({ draftId: 2, fileId: 10 }),
    );
    expect((await world.plan()).changes).toEqual([]);
  });

  test("keeps the file from the replacement that it takes it over from", async () => {
    const list = (...entries: string[]) => `draft: 3\nproduct_files: [${entries.join(", ")}]\n`;
    const replaced = "{ source: ../x.glb, renderer: arnold }";
    answerUploads(() => 11);
    await world.write(list(replaced), { "x.glb": "first" });
    await world.apply();
    answerUploads((key) => (key === "in/b" ? 11 : 12));
    await world.write(list(replaced, "{ upload_key: in/b, renderer: arnold }"), { "x.glb": "second" });
    const address = "drafts/3/product_files/upload_key:in/b";
    const { choose } = world.proxy;
    const isTakenOver = async () => {
      const { attachments } = await world.ledger.load();
      return attachments.some((attachment) => attachment.address === address);
    };
    // The new file of the replacement is attached last.
    world.proxy.choose = (request) =>
      request.method === "POST" && request.path.endsWith("/product_files")
        ? { type: "answer-held", until: expect.poll(isTakenOver).toBe(true) }
        : choose(request);
    await world.apply();
    const { attachments } = await world.ledger.load();
    expect(attachments.find(({ draftId, fileId }) => draftId === 3 && fileId === 11)).toMatchObject({
      address,
    });
    expect((await world.plan()).changes).toEqual([]);
  });
});

test("publishes a draft when a refused attachment is a file that this ledger attached", async () => {
  await world.write("draft: 2\nproduct_files: [{ file_id: 10 }]\n");
  await world.apply();
  const attributes = { upload_key: "in/a", status: "success", file_id: 10 };
  const body = JSON.stringify({ data: { id: "u-1", type: "upload", attributes } });
  const headers = { "content-type": "application/vnd.api+json" };
  const refused = {
    type: "answer",
    status: 422,
    headers,
    body: '{"errors":[{"title":"attached"}]}',
  } as const;
  world.proxy.choose = ({ method, path }) => {
    if (method !== "POST") return undefined;
    if (path === "/api/uploads") return { type: "answer", status: 201, headers, body };
    return path.endsWith("/product_files") ? refused : undefined;
  };
  await world.write("draft: 2\nproduct_files: [{ upload_key: in/a }]\npublish: true\n");
  expect((await world.apply()).totals).toMatchObject({ failed: 0, skipped: 0 });
  const { attachments, products } = world.sandbox.state();
  expect(attachments.filter(({ draftId }) => draftId === 2)).toMatchObject([{ fileId: 10 }]);
  expect(products.filter(({ draftId }) => draftId === 2)).toHaveLength(1);
});

test("does not detach a file that another entry has by then", async () => {
  const fileId = attachedFile();
  const other = "drafts/1/product_files/upload_key:in/a";
  await world.write("draft: 1\nproduct_files: [{ source: ../a.glb }, { file_id: 10 }]\n");
  await world.apply();
  await world.write("draft: 1\nproduct_files: [{ file_id: 10, renderer: vray }]\n");
  const target = { draftId: 1, kind: "product_files", fileId } as const;
  world.proxy.choose = ({ method }) =>
    method === "PATCH"
      ? {
          type: "answer-held",
          until: world.ledger.record([{ type: "readdressed", target, address: other }]),
        }
      : undefined;
  world.requests();
  expect((await world.apply()).totals).toMatchObject({ done: 2, failed: 0 });
  expect(world.requests()).toEqual(["PATCH /api/drafts/1/product_files/10"]);
  expect((await world.ledger.load()).attachments).toContainEqual(
    expect.objectContaining({ fileId, address: other }),
  );
});

describe("two sources with the same content in one list", () => {
  const two = "draft: 2\nproduct_files: [{ source: ../b.glb }, { source: ../c.glb }]\n";
  const one = "draft: 2\nproduct_files: [{ source: ../b.glb }]\n";
  const files = { "b.glb": "same", "c.glb": "same" };

  test.each([
    ["an empty ledger", [] as const],
    ["a ledger with the first", [[one, { "b.glb": "same" }]] as const],
    ["a ledger with the second", [[one.replace("b.glb", "c.glb"), { "c.glb": "same" }]] as const],
    ["a ledger with both and other contents", [[two, { "b.glb": "1", "c.glb": "2" }]] as const],
    [
      "a ledger with both in the other order",
      [
        [two, { "b.glb": "same", "c.glb": "2" }],
        [two, { "b.glb": "1", "c.glb": "same" }],
      ] as const,
    ],
  ])("are rejected with %s", async (_name, history) => {
    for (const [manifest, contents] of history) {
      await world.write(manifest, contents);
      expect((await world.apply()).totals).toMatchObject({ failed: 0, skipped: 0 });
    }
    await world.write(two, files);
    await expect(world.plan()).rejects.toThrow(
      '2 same-content-twice The source "c.glb" has the same content as "b.glb" on line 2',
    );
  });
});

test("the old file of a source stays with it until the new one is attached, and so do values that are not managed", async () => {
  const entry = (rest = "") => `draft: 2\nproduct_files:\n  - source: ../a.glb\n${rest}`;
  await world.write(entry("    renderer: vray\n"), { "a.glb": "one" });
  await world.apply();
  const [{ fileId } = { fileId: 0 }] = world.sandbox.state().attachments;
  const both = entry(`  - file_id: ${fileId}\n`);
  await world.write(both, { "a.glb": "two" });
  await world.apply(undefined, { maxCalls: 2 });
  await world.apply();
  const values = world.sandbox.state().attachments.map(({ attributes }) => attributes);
  expect(values).toMatchObject([{ renderer: "vray" }, { renderer: "vray" }]);
  expect((await world.plan()).changes).toEqual([]);
});
