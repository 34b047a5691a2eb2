import { describe, expect, test } from "vitest";
import type { UploadCredentials } from "../../../src/service/documents.ts";
import { serviceProfileSchema } from "../../../src/service/profile.ts";
import { makeRedactor } from "../../../src/service/redact.ts";
import { locateStorage } from "../../../src/service/storage-client.ts";

const secret = "sEcReT/K3+storage=Key%40";

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
  return locateStorage(
    { ...credentials, ...given },
    { settings, baseUrl: new URL(baseUrl), redactor: makeRedactor(secret) },
  );
}

describe("storage location", () => {
  test.each<[where: string, endpoint: string | undefined, storage: unknown, baseUrl?: string]>([
    ["AWS without an endpoint", undefined, {}],
    ["an AWS endpoint", "https://s3.eu-west-1.amazonaws.com", {}],
    ["an AWS endpoint in China", "https://s3.cn-north-1.amazonaws.com.cn", {}],
    ["the service's own host", "https://api.example.com", {}],
    [
      "a host that the config allows",
      "https://minio.example.net:9000",
      { hosts: ["minio.example.net:9000"] },
    ],
    [
      "this machine without TLS for a service on this machine",
      "http://127.0.0.1:9000",
      {},
      "http://localhost:8000",
    ],
  ])("allows %s", (_where, endpoint, storage, baseUrl) => {
    const found = place(endpoint === undefined ? {} : { endpoint }, storage, baseUrl);
    expect(found).toEqual({
      type: "allowed",
      region: "eu-west-1",
      bucket: "uploads",
      ...(endpoint === undefined ? {} : { endpoint }),
    });
  });

  test("prefers the endpoint of the config to that of the credentials", () => {
    const endpoint = "https://here.example";
    expect(place({ endpoint: "http://evil.example" }, { endpoint })).toMatchObject({
      type: "allowed",
      endpoint,
    });
  });
});

describe("bytes do not go", () => {
  test.each<[where: string, given: Partial<UploadCredentials>, storage?: unknown]>([
    ["an unknown host", { endpoint: "https://evil.example" }],
    ["a host that resembles AWS", { endpoint: "https://s3.amazonaws.com.evil.example" }],
    ["a host whose name ends like AWS", { endpoint: "https://evilamazonaws.com" }],
    ["another port of an allowed host", { endpoint: "https://a.example:1" }, { hosts: ["a.example"] }],
    ["another port of the service", { endpoint: "https://api.example.com:8443" }],
    ["AWS without TLS", { endpoint: "http://s3.eu-west-1.amazonaws.com" }],
    ["an allowed host without TLS", { endpoint: "http://a.example" }, { hosts: ["a.example"] }],
    ["this machine for a service elsewhere", { endpoint: "http://127.0.0.1:9000" }],
    ["a region that contains a host", { region: "x.evil.example/" }],
    ["a region that contains a user", { region: "a@evil.example" }],
    ["a bucket that ends the host", { bucket: "evil.example/" }],
    ["a bucket that contains a user", { bucket: "a@evil.example" }],
    ["a bucket that contains a port", { bucket: "evil.example:443" }],
    ["a bucket with two dots", { bucket: "a..b" }],
    ["a bucket that is a hyphen", { bucket: "-" }],
  ])("refuses %s", (_where, given, storage) => {
    expect(place(given, storage)).toMatchObject({ type: "refused", problem: expect.any(String) });
  });

  test.each<[member: string, given: Partial<UploadCredentials>]>([
    ["region", { region: secret }],
    ["bucket", { bucket: Buffer.from(secret).toString("hex") }],
    ["key prefix", { keyPrefix: `in/${encodeURIComponent(secret)}/` }],
  ])("refuses a secret in the %s, and does not show it", (_member, given) => {
    expect(place(given)).toMatchObject({
      type: "refused",
      problem: "it repeats a secret as region, bucket or key prefix",
    });
  });

  test("refuses a host with a hint on how to allow it", () => {
    expect(place({ endpoint: "https://minio.example.net:9000/x" })).toEqual({
      type: "refused",
      problem: "https://minio.example.net:9000 is neither AWS nor the service's own host",
      hint: expect.stringContaining("service.profile.storage.hosts: [minio.example.net:9000]"),
    });
  });
});
