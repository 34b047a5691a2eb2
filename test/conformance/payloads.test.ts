import { describe, expect, test } from "vitest";
import { errorsOf, JSON_API, pointersOf, resourceOf } from "./support/call.ts";
import { nameOf, PAIRS, type Param, stepsOf, withMember } from "./support/interface.ts";
import { useSandbox } from "./support/use-sandbox.ts";

const { send, sandbox } = useSandbox();

const RIGHT = {
  object: [],
  string: ["", "text", "Ünï ☃", "1.10"],
  number: [1, 8_999_999_999],
  boolean: [true, false],
} satisfies Record<Param["type"], unknown[]>;

const WRONG = {
  object: [5, "text", true, null, []],
  string: [5, true, null, {}, ["text"]],
  number: ["12", true, null, {}, [12], 1.5, 0, -1, 2 ** 53],
  boolean: ["true", "", 1, 0, null, {}],
} satisfies Record<Param["type"], unknown[]>;

const withPayload = PAIRS.flatMap((pair) =>
  pair.example === undefined ? [] : [{ name: nameOf(pair), pair, example: pair.example }],
);

const rows = withPayload.flatMap((row) => row.pair.payload.map((param) => ({ ...row, param })));

/** Pointer to the parent of a removed member. */
const parentPointer = (steps: string[]) =>
  steps
    .slice(0, -1)
    .map((step) => `/${step}`)
    .join("");
const pointer = (steps: string[]) => steps.map((step) => `/${step}`).join("");

describe.each(rows)("$name — $param.name", ({ name, pair, example, param }) => {
  const steps = stepsOf(param.name);
  const row = `${name} — ${param.name} (${param.type}, ${param.required})`;
  const fixedValue = param.name.endsWith("[type]") || param.name.endsWith("[draft][data][id]");

  test.each((fixedValue ? [] : RIGHT[param.type]).map((value) => [value]))(
    `${row} accepts %j`,
    async (value) => {
      const path = await pair.prepare(send);
      const response = await send({ method: pair.method, path, body: withMember(example, steps, value) });
      expect(response.status).toBe(pair.expected.status);
      const [, , attribute] = steps;
      if (attribute !== undefined) expect(resourceOf(response).attributes[attribute]).toEqual(value);
    },
  );

  test.each(WRONG[param.type].map((value) => [value]))(`${row} rejects %j`, async (value) => {
    const path = await pair.prepare(send);
    const before = sandbox().state();
    const response = await send({ method: pair.method, path, body: withMember(example, steps, value) });
    expect(response.status).toBe(422);
    expect(pointersOf(response)).toEqual([pointer(steps)]);
    expect(sandbox().state()).toEqual(before);
  });

  test(`${row} may be missing only if it is optional`, async () => {
    const path = await pair.prepare(send);
    const body = withMember(example, steps, undefined);
    const response = await send({ method: pair.method, path, body });
    if (param.required === "optional") {
      expect(response.status).toBe(pair.expected.status);
    } else {
      expect(response.status).toBe(422);
      expect(errorsOf(response)).toMatchObject([
        { status: "422", code: "required", source: { pointer: parentPointer(steps) } },
      ]);
    }
  });
});

describe.each(withPayload)("$name", ({ name, pair, example }) => {
  test.each(["", "files", "Product_file", "draft"])(`${name} — data[type] %j: 422`, async (type) => {
    const path = await pair.prepare(send);
    const body = withMember(example, ["data", "type"], type);
    const response = await send({ method: pair.method, path, body });
    expect(response.status).toBe(422);
    expect(errorsOf(response)).toMatchObject([
      { code: "wrong-resource-type", source: { pointer: "/data/type" } },
    ]);
  });

  test(`${name} — an unlisted attribute: 422 with its name`, async () => {
    const path = await pair.prepare(send);
    const body = withMember(example, ["data", "attributes", "colour~/x"], "red");
    const response = await send({ method: pair.method, path, body });
    expect(response.status).toBe(422);
    expect(errorsOf(response)).toMatchObject([
      { code: "unknown-field", source: { pointer: "/data/attributes/colour~0~1x" } },
    ]);
  });

  test(`${name} — unknown members outside the attributes are ignored`, async () => {
    const path = await pair.prepare(send);
    const body = withMember(withMember(example, ["meta"], { a: 1 }), ["data", "meta"], { b: 2 });
    expect((await send({ method: pair.method, path, body })).status).toBe(pair.expected.status);
  });

  test(`${name} — all violations are returned together`, async () => {
    const path = await pair.prepare(send);
    const body = { data: { type: 5, attributes: { colour: "red", size: 4 }, relationships: 7 } };
    const response = await send({ method: pair.method, path, body });
    expect(response.status).toBe(422);
    expect(pointersOf(response)).toEqual(
      expect.arrayContaining(["/data/type", "/data/attributes/colour", "/data/attributes/size"]),
    );
  });

  test.each([
    ["none", undefined],
    ["plain JSON", "application/json"],
    ["a form", "application/x-www-form-urlencoded"],
  ])(`${name} — Content-Type %s: 415`, async (_, type) => {
    const path = await pair.prepare(send);
    const response = await send({
      method: pair.method,
      path,
      body: example,
      headers: { "content-type": type },
    });
    expect(response.status).toBe(415);
    expect(errorsOf(response)).toMatchObject([{ source: { header: "Content-Type" } }]);
  });

  test(`${name} — Content-Type with a parameter works unless mediaTypes is strict`, async () => {
    const path = await pair.prepare(send);
    const headers = { "content-type": `${JSON_API}; charset=utf-8` };
    const response = await send({ method: pair.method, path, body: example, headers });
    expect(response.status).toBe(pair.expected.status);
  });

  test.each(['{"data":', "text", '{"data":{}}x'])(`${name} — %j is not JSON: 400`, async (body) => {
    const path = await pair.prepare(send);
    const response = await send({ method: pair.method, path, body });
    expect(response.status).toBe(400);
    expect(errorsOf(response)).toMatchObject([{ code: "malformed-json" }]);
  });

  test(`${name} — a body over the limit: 413`, async () => {
    const path = await pair.prepare(send);
    const body = withMember(example, ["meta"], "x".repeat(1_048_576));
    const response = await send({ method: pair.method, path, body });
    expect(response.status).toBe(413);
    expect(errorsOf(response)).toMatchObject([{ code: "body-too-large" }]);
  });

  test(`${name} — a chunked body over the limit: 413`, async () => {
    const path = await pair.prepare(send);
    const body = withMember(example, ["meta"], "x".repeat(1_048_576));
    const headers = { "transfer-encoding": "chunked" };
    expect((await send({ method: pair.method, path, body, headers })).status).toBe(413);
  });

  const dataRequired = pair.payload[0]?.required === "required";
  test(`${name} — no body: ${dataRequired ? "422" : "accepted"}`, async () => {
    const response = await send({ method: pair.method, path: await pair.prepare(send) });
    expect(response.status).toBe(dataRequired ? 422 : pair.expected.status);
    if (dataRequired) expect(pointersOf(response)).toEqual([""]);
  });
});
