import { expect, test } from "vitest";
import { judgeAnswerer } from "../../../../src/service/examination/judge-answerer.ts";

test.each([
  { from: "http://localhost:4010", to: "https://localhost/api/products/1", proposes: "https://localhost" },
  { from: "https://api.example.com", to: "/v2/api/products/1/", proposes: "https://api.example.com/v2" },
  {
    from: "https://api.example.com",
    to: "https://api.example.com:8443/api/products/1",
    proposes: "https://api.example.com:8443",
  },
  // In the clear, to another host, and to something that is no call of the interface.
  { from: "https://api.example.com", to: "http://api.example.com/api/products/1", proposes: undefined },
  { from: "https://api.example.com", to: "https://evil.example/api/products/1", proposes: undefined },
  {
    from: "https://api.example.com",
    to: "https://api.example.com.evil.example/api/products/1",
    proposes: undefined,
  },
  { from: "https://api.example.com", to: "https://api.example.com/login", proposes: undefined },
  { from: "https://api.example.com", to: "https://", proposes: undefined },
])("from $from to $to: $proposes is proposed", ({ from, to, proposes }) => {
  const check = judgeAnswerer(
    {
      type: "answer",
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
  expect(check).toMatchObject({ status: "failed", finding: { code: "address-redirects", facts: { to } } });
  expect(check.setting?.value).toBe(proposes);
});
