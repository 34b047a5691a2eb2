import { describe, expect, test } from "vitest";
import type { UploadCredentials } from "../../../src/service/documents.ts";
import { serviceProfileSchema } from "../../../src/service/profile.ts";
import { locateStorage } from "../../../src/service/storage-client.ts";

function place(
  given: Partial<UploadCredentials>,
  storage: unknown = {},
  baseUrl = "https://api.example.com/v",
) {
  const credentials = {
    keyPrefix: "",
    bucket: "uploads",
    region: "eu-west-1",
    accessKey: "a",
    secretKey: "s",
  };
  const { storage: settings } = serviceProfileSchema.parse({ storage });
  return locateStorage({ ...credentials, ...given }, { settings, baseUrl: new URL(baseUrl) });
}

describe("bytes go", () => {
  test.each<[where: string, endpoint: string | undefined, storage: unknown, baseUrl?: string]>([
    ["to AWS when nothing is named", undefined, {}],
    ["to AWS by name", "https://s3.eu-west-1.amazonaws.com", {}],
    ["to AWS in China", "https://s3.cn-north-1.amazonaws.com.cn", {}],
    ["to the service's own host", "https://api.example.com", {}],
    [
      "to a host that the config allows",
      "https://minio.example.net:9000",
      { hosts: ["minio.example.net:9000"] },
    ],
    ["within this machine without TLS", "http://127.0.0.1:9000", {}, "http://localhost:8000"],
  ])("%s", (_where, endpoint, storage, baseUrl) => {
    const found = place(endpoint === undefined ? {} : { endpoint }, storage, baseUrl);
    expect(found).toEqual({
      type: "allowed",
      region: "eu-west-1",
      bucket: "uploads",
      ...(endpoint === undefined ? {} : { endpoint }),
    });
  });

  test("where the config says, whatever the credentials name", () => {
    const endpoint = "https://here.example";
    expect(place({ endpoint: "http://evil.example" }, { endpoint })).toMatchObject({
      type: "allowed",
      endpoint,
    });
  });
});

describe("bytes do not go", () => {
  test.each<[where: string, given: Partial<UploadCredentials>, storage?: unknown]>([
    ["to a foreign host", { endpoint: "https://evil.example" }],
    ["to a host that only looks like AWS", { endpoint: "https://s3.amazonaws.com.evil.example" }],
    ["to a name that only ends like AWS", { endpoint: "https://evilamazonaws.com" }],
    ["to another port of an allowed host", { endpoint: "https://a.example:1" }, { hosts: ["a.example"] }],
    ["to another port of the service", { endpoint: "https://api.example.com:8443" }],
    ["anywhere without TLS", { endpoint: "http://s3.eu-west-1.amazonaws.com" }],
    ["to an allowed host without TLS", { endpoint: "http://a.example" }, { hosts: ["a.example"] }],
    ["to this machine for a service elsewhere", { endpoint: "http://127.0.0.1:9000" }],
    ["through a region that is a host", { region: "x.evil.example/" }],
    ["through a region with a user", { region: "a@evil.example" }],
    ["through a bucket that ends the host", { bucket: "evil.example/" }],
    ["through a bucket with a user", { bucket: "a@evil.example" }],
    ["through a bucket with a port", { bucket: "evil.example:443" }],
    ["through a bucket of dots", { bucket: "a..b" }],
    ["through an empty bucket", { bucket: "-" }],
  ])("%s", (_where, given, storage) => {
    expect(place(given, storage)).toMatchObject({ type: "refused", problem: expect.any(String) });
  });

  test("and it is said what to write when they should", () => {
    expect(place({ endpoint: "https://minio.example.net:9000/x" })).toEqual({
      type: "refused",
      problem: "https://minio.example.net:9000 is neither AWS nor the service's own host",
      hint: expect.stringContaining("service.profile.storage.hosts: [minio.example.net:9000]"),
    });
  });
});
