import { describe, expect, it } from "vitest";
import { z } from "zod";
import { DraftsyncError } from "../../../src/model/errors.ts";
import { openService } from "../../../src/service/open-service.ts";
import { serviceProfileSchema } from "../../../src/service/profile.ts";
import { closeAfterTest, optionsFor } from "./support/harness.ts";

const url = "https://api.example.com";

describe("openService", () => {
  it("makes no call when it opens a client", async () => {
    const service = openService(optionsFor(url));
    closeAfterTest(() => service.close());
    expect(service.callCount()).toBe(0);
  });

  it.each([
    ["a key with a line break", { apiKey: "abc\r\nX-Evil: 1" }, "api-key-invalid"],
    ["a key with a line feed at its end", { apiKey: "abc\n" }, "api-key-invalid"],
    ["a key with a space", { apiKey: "abc def" }, "api-key-invalid"],
    ["a key with a letter beyond ASCII", { apiKey: "schlüssel" }, "api-key-invalid"],
    ["a key with a control character", { apiKey: "abc\u0000" }, "api-key-invalid"],
    ["no key", { apiKey: "" }, "api-key-missing"],
    ["a rate of zero", { rate: { limit: 0, windowMs: 1 } }, "invalid-service-option"],
    ["a rate of a half", { rate: { limit: 0.5, windowMs: 1 } }, "invalid-service-option"],
    ["a window of zero", { rate: { limit: 1, windowMs: 0 } }, "invalid-service-option"],
    ["no concurrency", { concurrency: 0 }, "invalid-service-option"],
    ["a timeout that is not a number", { timeoutMs: Number.NaN }, "invalid-service-option"],
  ])("rejects %s without showing the key", (_name, overrides, code) => {
    const error = catchError(() => openService(optionsFor(url, overrides)));
    expect(error).toMatchObject({ name: "ServiceOptionsError", code });
    const { apiKey } = optionsFor(url, overrides);
    if (apiKey !== "")
      expect(`${error.message} ${error.hint} ${error.stack?.split("\n")[0]}`).not.toContain(apiKey);
  });

  it.each([
    "not a url",
    "ftp://host",
    "https://user:password@host",
    "https://host/?a=b",
    "https://host/#x",
    "file:///x",
  ])("rejects the base address %s", (baseUrl) => {
    const error = catchError(() => openService(optionsFor(baseUrl)));
    expect(error.code).toBe("base-url-invalid");
    expect(error.message).not.toContain("password");
  });

  it("requires https outside this machine unless allow_http is set", () => {
    const code = "base-url-not-https";
    for (const host of ["service.example", "10.0.0.7", "127.0.0.1.evil.example", "localhost.evil.example"]) {
      expect(catchError(() => openService(optionsFor(`http://${host}`)))).toMatchObject({ code });
    }
    const near = ["http://127.0.0.1:1", "http://localhost", "http://[::1]:1", "http://a.localhost"];
    for (const baseUrl of near) closeAfterTest(() => openService(optionsFor(baseUrl)).close());
    const allowed = openService(optionsFor("http://service.example", { allowHttp: true }));
    closeAfterTest(() => allowed.close());
  });
});

describe("serviceProfileSchema", () => {
  it.each([
    ["an unknown key", { settle: "30s" }],
    ["an unknown type name", { types: { file: "x" } }],
    ["a method that is not an update", { update_method: "POST" }],
    ["a duration without a unit", { settle_delay: "30" }],
    ["a wait of zero", { max_wait: "0s" }],
    ["a page of zero", { uploads_page: 0 }],
    ["a media type with a line break", { content_type: "a/b\r\nX: y" }],
    ["a storage that is not a URL", { storage: { endpoint: "storage" } }],
    ["a relation with a comma", { product_include: ["a,b"] }],
  ])("rejects %s", (_name, profile) => {
    expect(serviceProfileSchema.safeParse(profile).success).toBe(false);
  });

  it("describes every setting, with its default as written in YAML", () => {
    const schema = z.toJSONSchema(serviceProfileSchema, { io: "input" });
    const properties = Object.entries(schema.properties ?? {});
    expect(
      properties.filter(
        ([, property]) => typeof property === "boolean" || property.description === undefined,
      ),
    ).toEqual([]);
    expect(schema.properties?.settle_delay).toMatchObject({ type: "string", default: "30s" });
  });
});

function catchError(run: () => unknown): DraftsyncError {
  try {
    run();
  } catch (error) {
    if (error instanceof DraftsyncError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}
