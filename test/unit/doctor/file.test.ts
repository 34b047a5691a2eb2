import { describe, expect, test } from "vitest";
import { fileDocument, target } from "../service/support/harness.ts";
import type { RecordedRequest } from "../service/support/raw-server.ts";
import { answer } from "../service/support/raw-server.ts";
import { probeServer } from "./check-at.ts";

const set = { file_format: "fbx", renderer: "arnold" };
const shows = (attributes: object, type?: string) => answer(200, fileDocument(attributes, type));
const methods = ({ requests }: { readonly requests: readonly RecordedRequest[] }) =>
  requests.map(({ method }) => method);
const refusal = (status: number) => answer(status, { errors: [{ status: String(status), detail: "No." }] });

test("sends PATCH twice, PUT and PATCH if nothing changes", async () => {
  const { found, server, settings } = await probeServer(() => shows({ ...set, updated_at: Math.random() }));
  expect(found).toEqual({
    probe: "ok probe-harmless",
    data_type: "ok data-type-as-set",
    data_id: "ok data-id-is-other",
    update_method: "ok method-same",
  });
  expect(methods(server)).toEqual(["PATCH", "PATCH", "PUT", "PATCH"]);
  expect(settings).toEqual({});
});

describe("a service that clears omitted attributes", () => {
  test("is detected by the second probe if it returns the file before the change, and gets no further probe", async () => {
    const { found, checks, server } = await probeServer((_request, at) => shows(at === 0 ? set : {}));
    expect(found).toMatchObject({ probe: "failed probe-harmful", update_method: "skipped check-skipped" });
    expect(checks[0]?.details).toEqual({ before: set, after: {}, is_recorded: false });
    expect(methods(server)).toEqual(["PATCH", "PATCH"]);
  });

  test.each([
    { name: "no attributes", cleared: {} },
    { name: "one attribute", cleared: { file_format: "fbx", renderer: null } },
    { name: "empty texts", cleared: { file_format: "", renderer: "" } },
  ])("is detected by the record if it returns the cleared file: $name", async ({ cleared }) => {
    const { found, server } = await probeServer(() => shows(cleared), set);
    expect(found.probe).toBe("failed probe-record-differs");
    expect(methods(server)).toEqual(["PATCH"]);
  });

  test("is suspected if the file is not recorded and has no attributes", async () => {
    const { found, server } = await probeServer(() => shows({ is_native: false, renderer: null }));
    expect(found.probe).toBe("failed probe-no-attributes");
    expect(methods(server)).toEqual(["PATCH"]);
  });

  test("is detected after a PUT that returns the file before the change", async () => {
    const { found, settings, checks } = await probeServer((_request, at) => shows(at < 3 ? set : {}));
    expect(found).toMatchObject({ probe: "ok probe-harmless", update_method: "failed method-put-changes" });
    expect(settings).toEqual({ "profile.update_method": "PATCH" });
    expect(checks.at(-1)?.details).toMatchObject({ before: set, after: {} });
  });

  test("is detected if it sets defaults instead", async () => {
    const { found } = await probeServer((_request, at) =>
      shows(at === 0 ? set : { ...set, renderer: "none" }),
    );
    expect(found.probe).toBe("failed probe-harmful");
  });
});

test("does not count a recorded attribute with a different value as cleared", async () => {
  const { found } = await probeServer(() => shows({ ...set, renderer: "vray" }), set);
  expect(found.probe).toBe("ok probe-harmless");
});

describe("update methods", () => {
  test("include PUT if PATCH is rejected, and PUT is suggested", async () => {
    const { found, settings, server } = await probeServer(({ method }) =>
      method === "PATCH" ? refusal(405) : shows(set),
    );
    expect(found).toMatchObject({
      probe: "ok probe-harmless",
      update_method: "warning method-patch-refused",
    });
    expect(settings).toEqual({ "profile.update_method": "PUT" });
    expect(methods(server)).toEqual(["PATCH", "PUT", "PUT"]);
  });

  test("fail if both are rejected", async () => {
    const { found, settings, server } = await probeServer(() => refusal(405));
    expect(found).toMatchObject({ probe: "failed probe-failed", update_method: "skipped check-skipped" });
    expect({ settings, methods: methods(server) }).toEqual({ settings: {}, methods: ["PATCH", "PUT"] });
  });

  test.each([
    { put: answer(204), finds: "unknown method-put-unknown", calls: 4 },
    { put: refusal(422), finds: "warning method-put-refused", calls: 3 },
  ])("have PUT reported as $finds", async ({ put, finds, calls }) => {
    const { found, server } = await probeServer(({ method }) => (method === "PUT" ? put : shows(set)));
    expect(found.update_method).toBe(finds);
    expect(server.requests).toHaveLength(calls);
  });
});

describe("responses without the file", () => {
  test.each([
    { reply: answer(204), finds: "unknown probe-unknown" },
    { reply: answer(202, fileDocument(set)), finds: "warning probe-accepted" },
    { reply: refusal(404), finds: "unknown probe-not-attached" },
    { reply: refusal(422), finds: "warning probe-refused" },
    { reply: refusal(403), finds: "failed probe-failed" },
  ])("are $finds after one call", async ({ reply, finds }) => {
    const { found, server } = await probeServer(() => reply);
    expect(found.probe).toBe(finds);
    expect(server.requests).toHaveLength(1);
  });
});

test("suggests a different data.type as a setting, and still reads the file", async () => {
  const { found, settings } = await probeServer(() => shows(set, "asset_file"));
  expect(found).toMatchObject({ probe: "ok probe-harmless", data_type: "warning data-type-other" });
  expect(settings).toEqual({ "profile.types.product_file": "asset_file" });
});

test("accepts a data.id that is the file id or absent", async () => {
  const withId = (id: unknown) => answer(200, { data: { type: "product_file", id, attributes: set } });
  expect((await probeServer(() => withId(String(target.fileId)))).found.data_id).toBe("ok data-id-is-file");
  expect((await probeServer(() => withId(undefined))).found.data_id).toBe("ok data-id-absent");
});
