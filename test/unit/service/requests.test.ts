import { describe, expect, it } from "vitest";
import type { Service } from "../../../src/service/open-service.ts";
import { userAgent } from "../../../src/service/transport.ts";
import { apiKey, noSignal, startHarness, target, write } from "./support/harness.ts";
import { answer } from "./support/raw-server.ts";

const promotional = { draftId: 48213, kind: "promotional_files", fileId: 9900044 } as const;
const everything = {
  is_native: false,
  renderer_version: "7.2",
  renderer: "arnold",
  format_version: "2020",
  file_format: "fbx",
};

interface Row {
  readonly name: string;
  readonly line: string;
  readonly body?: string;
  readonly profile?: unknown;
  readonly send: (service: Service) => Promise<unknown>;
}

/** The fifteen method-and-path pairs of docs/reference/interface.md. */
const rows: readonly Row[] = [
  {
    name: "attach a product file",
    line: "POST /api/drafts/48213/product_files",
    body: '{"data":{"type":"product_file","attributes":{"file_id":9900011,"file_format":"fbx","format_version":"2020","renderer":"arnold","renderer_version":"7.2","is_native":false}}}',
    send: (service) => service.attach(target, everything, write()),
  },
  {
    name: "update a product file with PATCH",
    line: "PATCH /api/drafts/48213/product_files/9900011",
    body: '{"data":{"type":"product_file","attributes":{"file_format":"","is_native":true}}}',
    send: (service) => service.update(target, { is_native: true, file_format: "" }, write()),
  },
  {
    name: "update a product file with PUT",
    line: "PUT /api/drafts/48213/product_files/9900011",
    body: '{"data":{"type":"product_file","attributes":{"renderer":"arnold"}}}',
    profile: { update_method: "PUT" },
    send: (service) => service.update(target, { renderer: "arnold" }, write()),
  },
  {
    name: "probe a product file",
    line: "PATCH /api/drafts/48213/product_files/9900011",
    body: '{"data":{"type":"product_file","attributes":{}}}',
    send: (service) => service.update(target, {}, write()),
  },
  {
    name: "detach a product file",
    line: "DELETE /api/drafts/48213/product_files/9900011",
    send: (service) => service.detach(target, write()),
  },
  {
    name: "attach a promotional file",
    line: "POST /api/drafts/48213/promotional_files",
    body: '{"data":{"type":"promotional_file","attributes":{"file_id":9900044,"description":"Drache, geflügelt"}}}',
    send: (service) => service.attach(promotional, { description: "Drache, geflügelt" }, write()),
  },
  {
    name: "update a promotional file with PATCH",
    line: "PATCH /api/drafts/48213/promotional_files/9900044",
    body: '{"data":{"type":"promotional_file","attributes":{"description":""}}}',
    send: (service) => service.update(promotional, { description: "" }, write()),
  },
  {
    name: "update a promotional file with PUT",
    line: "PUT /api/drafts/48213/promotional_files/9900044",
    body: '{"data":{"type":"promotional_file","attributes":{"description":"x"}}}',
    profile: { update_method: "PUT" },
    send: (service) => service.update(promotional, { description: "x" }, write()),
  },
  {
    name: "detach a promotional file",
    line: "DELETE /api/drafts/48213/promotional_files/9900044",
    send: (service) => service.detach(promotional, write()),
  },
  {
    name: "request upload credentials",
    line: "POST /api/uploads/credentials",
    send: (service) => service.credentials(noSignal()),
  },
  {
    name: "create an upload",
    line: "POST /api/uploads",
    body: '{"data":{"type":"upload","attributes":{"upload_key":"in/turntable.mp4"}}}',
    send: (service) => service.createUpload("in/turntable.mp4", write()),
  },
  {
    name: "get an upload",
    line: "GET /api/uploads/ab%2F1%20%C3%A9",
    send: (service) => service.getUpload("ab/1 é", noSignal()),
  },
  {
    name: "get several uploads",
    line: "GET /api/uploads?filter%5Bid%5D=a1,b%2C2,c3",
    send: (service) => service.getUploads(["a1", "b,2", "c3"], noSignal()),
  },
  {
    name: "get several uploads by a configured parameter",
    line: "GET /api/uploads?ids=a1,b2",
    profile: { uploads_query: "ids" },
    send: (service) => service.getUploads(["a1", "b2"], noSignal()),
  },
  {
    name: "get a product",
    line: "GET /api/products/771200",
    send: (service) => service.getProduct(771200, undefined, noSignal()),
  },
  {
    name: "get a product with included relations",
    line: "GET /api/products/771200?include=files,author",
    send: (service) => service.getProduct(771200, ["files", "author"], noSignal()),
  },
  {
    name: "get a product with the relations of the profile",
    line: "GET /api/products/771200?include=files",
    profile: { product_include: ["files"] },
    send: (service) => service.getProduct(771200, undefined, noSignal()),
  },
  {
    name: "publish a draft",
    line: "POST /api/products",
    body: '{"data":{"type":"product","relationships":{"draft":{"data":{"type":"draft","id":"48213"}}}}}',
    send: (service) => service.publish(48213, write()),
  },
  {
    name: "duplicate a product",
    line: "POST /api/products/771200/duplicate",
    send: (service) => service.duplicate(771200, write()),
  },
];

describe("request of the service's API", () => {
  it.each(rows)("$name: $line", async ({ line, body, profile, send }) => {
    const { service, server } = await startHarness(() => answer(403), { profile });
    await send(service);
    expect(server.requests).toHaveLength(1);
    const [request] = server.requests;
    const method = line.split(" ")[0];
    const non_idempotent = line === "POST /api/products" || line.endsWith("/duplicate");
    expect(`${request?.method} ${request?.path}`).toBe(line);
    expect(request?.body).toBe(body ?? "");
    expect(request?.headers).toEqual([
      ["host", new URL(server.url).host],
      ["connection", non_idempotent ? "close" : "keep-alive"],
      ["Accept", "application/vnd.api+json; com.service.api.version=1"],
      ["Authorization", `Token ${apiKey}`],
      ["User-Agent", userAgent()],
      ...(body === undefined ? [] : [["Content-Type", "application/vnd.api+json"]]),
      ...(method === "POST" || body !== undefined
        ? [["content-length", String(Buffer.byteLength(body ?? ""))]]
        : []),
    ]);
  });

  it("keeps the path prefix of the base address, without its final slash", async () => {
    const { service, server } = await startHarness(() => answer(403), { path: "/shop/v2/" });
    await service.detach(target, write());
    expect(server.requests[0]?.path).toBe("/shop/v2/api/drafts/48213/product_files/9900011");
  });

  it("has the types and the media type of the profile", async () => {
    const { service, server } = await startHarness(() => answer(403), {
      profile: { content_type: "application/json", types: { product: "item", draft: "work" } },
    });
    await service.publish(7, write());
    expect(server.requests[0]?.body).toBe(
      '{"data":{"type":"item","relationships":{"draft":{"data":{"type":"work","id":"7"}}}}}',
    );
    expect(server.requests[0]?.headers).toContainEqual(["Content-Type", "application/json"]);
  });

  it("omits attributes of the other collection", async () => {
    const { service, server } = await startHarness(() => answer(403));
    await service.attach(promotional, { description: "d", renderer: "arnold" }, write());
    expect(server.requests[0]?.body).not.toContain("arnold");
  });

  it.each(["", ".", ".."])("is not sent for the upload id %j, which would change the path", async (id) => {
    const { service, server } = await startHarness(() => answer(200));
    const result = await service.getUpload(id, noSignal());
    expect(result).toMatchObject({ outcome: "not_sent", failure: { code: "invalid-id" } });
    expect(server.requests).toEqual([]);
  });

  it("has the package's version in the User-Agent", () => {
    expect(userAgent()).toMatch(/^draftsync\/\d+\.\d+\.\d+/);
  });
});
