import { expect, test } from "vitest";
import { checkResponse } from "../../../src/doctor/check-service.ts";

test.each([
  { from: "http://localhost:4010", to: "https://localhost/api/products/1", suggests: "https://localhost" },
  { from: "https://api.example.com", to: "/v2/api/products/1/", suggests: "https://api.example.com/v2" },
  {
    from: "https://api.example.com",
    to: "https://api.example.com:8443/api/products/1",
    suggests: "https://api.example.com:8443",
  },
  // Without encryption, to a different host, and to paths outside the API.
  { from: "https://api.example.com", to: "http://api.example.com/api/products/1", suggests: undefined },
  { from: "https://api.example.com", to: "https://evil.example/api/products/1", suggests: undefined },
  {
    from: "https://api.example.com",
    to: "https://api.example.com.evil.example/api/products/1",
    suggests: undefined,
  },
  { from: "https://api.example.com", to: "https://api.example.com/login", suggests: undefined },
  { from: "https://api.example.com", to: "https://", suggests: undefined },
])("suggests for a redirect from $from to $to the address $suggests", ({ from, to, suggests }) => {
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
