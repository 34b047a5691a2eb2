import { expect, test } from "vitest";
import { checkResponse } from "../../../src/doctor/check-service.ts";

test.each([
  ["http://localhost:4010", "https://localhost/api/products/1", "https://localhost"],
  ["https://api.example.com", "/v2/api/products/1/", "https://api.example.com/v2"],
  ["https://api.example.com", "https://api.example.com:8443/api/products/1", "https://api.example.com:8443"],
  // Without encryption, to a different host, and to paths outside the API.
  ["https://api.example.com", "http://api.example.com/api/products/1", undefined],
  ["https://api.example.com", "https://evil.example/api/products/1", undefined],
  ["https://api.example.com", "https://api.example.com.evil.example/api/products/1", undefined],
  ["https://api.example.com", "https://api.example.com/login", undefined],
  ["https://api.example.com", "https://", undefined],
])("suggests for a redirect from %s to %s the address %s", (from, to, suggests) => {
  const result = checkResponse(
    {
      type: "response",
      request: "GET /api/products/1",
      status: 301,
      header: (name) => (name === "location" ? to : undefined),
      body: { type: "empty" },
      ms: 1,
      at: 0,
      problem: undefined,
    },
    from,
  );
  expect(result).toMatchObject({ status: "failed", code: "address-redirects", details: { to } });
  expect(result.setting?.value).toBe(suggests);
});
