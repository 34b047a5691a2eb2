import { describe, expect, test } from "vitest";
import { errorsOf, JSON_API, resourceOf } from "./support/call.ts";
import { freshId, nameOf, PAIRS } from "./support/interface.ts";
import { useSandbox } from "./support/use-sandbox.ts";

const { send, sandbox } = useSandbox();

test("the interface has fifteen method-and-path pairs", () => {
  expect(new Set(PAIRS.map(nameOf)).size).toBe(15);
});

describe.each(PAIRS.map((pair) => ({ name: nameOf(pair), pair })))("$name", ({ name, pair }) => {
  const { method, example: body } = pair;

  test(`${name} — returns ${pair.expected.status} with ${pair.expected.type ?? "no body"}`, async () => {
    const response = await send({ method, path: await pair.prepare(send), body });
    expect(response.status).toBe(pair.expected.status);
    if (pair.expected.type === null) {
      expect(response.text).toBe("");
      return;
    }
    expect(response.headers["content-type"]).toBe(JSON_API);
    if (pair.expected.type === "list") {
      expect(response.json).toMatchObject({ data: [{ type: "upload", id: expect.any(String) }] });
    } else {
      expect(resourceOf(response).type).toBe(pair.expected.type);
    }
  });

  test.each([
    ["missing", undefined],
    ["with another key", "Token another"],
    ["with another scheme", "Bearer sandbox-key"],
    ["with only the key", "sandbox-key"],
  ])(`${name} — Authorization %s: 401 without an effect`, async (_, authorization) => {
    const path = await pair.prepare(send);
    const before = sandbox().state();
    const response = await send({ method, path, body, headers: { authorization } });
    expect(response.status).toBe(401);
    expect(response.headers["www-authenticate"]).toMatch(/^Token /);
    expect(errorsOf(response)).toMatchObject([
      { status: "401", code: "unauthorized", source: { header: "Authorization" } },
    ]);
    expect(sandbox().state()).toEqual(before);
  });

  test.each([
    ["missing", undefined],
    ["any type", "*/*"],
    ["plain JSON", "application/json; com.service.api.version=1"],
    ["without a version", JSON_API],
    ["another version", `${JSON_API}; com.service.api.version=2`],
    ["version 1 refused", `${JSON_API}; com.service.api.version=1; q=0`],
  ])(`${name} — Accept %s: 406 without an effect`, async (_, accept) => {
    const path = await pair.prepare(send);
    const before = sandbox().state();
    const response = await send({ method, path, body, headers: { accept } });
    expect(response.status).toBe(406);
    expect(errorsOf(response)).toMatchObject([{ status: "406", source: { header: "Accept" } }]);
    expect(sandbox().state()).toEqual(before);
  });

  test.each([
    ["without a space", `${JSON_API};com.service.api.version=1`],
    ["quoted", `${JSON_API}; com.service.api.version="1"`],
    ["among others", `text/html, ${JSON_API}; com.service.api.version=1; q=0.9, */*; q=0.1`],
  ])(`${name} — Accept with the version %s works`, async (_, accept) => {
    const response = await send({ method, path: await pair.prepare(send), body, headers: { accept } });
    expect(response.status).toBe(pair.expected.status);
  });
});

const numeric = PAIRS.flatMap((pair) =>
  [...pair.path.matchAll(/:(draft_id|id)/g)].map(([, parameter = ""]) => ({ pair, parameter })),
).filter(({ pair }) => pair.path !== "/api/uploads/:id");

describe.each(numeric.map((row) => ({ name: nameOf(row.pair), ...row })))(
  "$name",
  ({ name, pair, parameter }) => {
    test.each(["abc", "1.5", "-1", "0", "007", "1e3", "0x10", "9007199254740993", "%20"])(
      `${name} — ${parameter} %s: 400, because it is not a number`,
      async (wrong) => {
        const path = pair.path.replace(/:(draft_id|id)/g, (_, at: string) =>
          at === parameter ? wrong : "5",
        );
        const response = await send({ method: pair.method, path, body: pair.example });
        expect(response.status).toBe(400);
        expect(errorsOf(response)).toMatchObject([{ code: "not-a-number", source: { parameter } }]);
      },
    );
  },
);

describe("paths", () => {
  const paths = [...new Set(PAIRS.map((pair) => pair.path))];
  const rows = paths.flatMap((path) => {
    const allowed = PAIRS.filter((pair) => pair.path === path).map((pair) => pair.method);
    const others = ["GET", "POST", "PUT", "PATCH", "DELETE"].filter((method) => !allowed.includes(method));
    return others.map((method) => ({ method, path, allowed }));
  });

  test.each(rows)("$method $path — 405 with Allow", async ({ method, path, allowed }) => {
    const response = await send({ method, path: path.replace(/:(draft_id|id)/g, String(freshId())) });
    expect(response.status).toBe(405);
    const named = (response.headers.allow ?? "").split(", ").filter((name) => name !== "HEAD");
    expect(named.sort()).toEqual([...allowed].sort());
    expect(errorsOf(response)).toMatchObject([{ code: "method-not-allowed" }]);
  });

  test.each([
    "/",
    "/api",
    "/api/",
    "/api/drafts",
    "/api/drafts/5",
    "/api/uploads/",
    "/api/v1/uploads",
    "/uploads",
  ])("GET %s — 404", async (path) => {
    const response = await send({ method: "GET", path });
    expect(response.status).toBe(404);
    expect(errorsOf(response)).toMatchObject([{ code: "no-such-path" }]);
  });

  test("GET /api/unknown — a missing key is reported before an unknown path", async () => {
    const response = await send({
      method: "GET",
      path: "/api/unknown",
      headers: { authorization: undefined },
    });
    expect(response.status).toBe(401);
  });
});
