import { describe, expect, test } from "vitest";
import { fileDocument, target } from "../support/harness.ts";
import type { RecordedRequest } from "../support/raw-server.ts";
import { answer } from "../support/raw-server.ts";
import { probeAt } from "./examine-at.ts";

const set = { file_format: "fbx", renderer: "arnold" };
const shows = (attributes: object, type?: string) => answer(200, fileDocument(attributes, type));
const methods = ({ requests }: { readonly requests: readonly RecordedRequest[] }) =>
  requests.map(({ method }) => method);
const refusal = (status: number) => answer(status, { errors: [{ status: String(status), detail: "No." }] });

test("nothing changes: two PATCH, a PUT, and one more look at what it left", async () => {
  const { found, server, settings } = await probeAt(() => shows({ ...set, updated_at: Math.random() }));
  expect(found).toEqual({
    probe: "ok probe-harmless",
    data_type: "ok data-type-as-set",
    data_id: "ok data-id-is-other",
    update_method: "ok method-same",
  });
  expect(methods(server)).toEqual(["PATCH", "PATCH", "PUT", "PATCH"]);
  expect(settings).toEqual({});
});

describe("a service that clears what is not named", () => {
  test("and answers the file as it was before: the second probe finds it, and there is no third", async () => {
    const { found, checks, server } = await probeAt((_request, at) => shows(at === 0 ? set : {}));
    expect(found).toMatchObject({ probe: "failed probe-harmful", update_method: "not_checked not-checked" });
    expect(checks[0]?.finding.facts).toEqual({ before: set, after: {}, isRecorded: false });
    expect(methods(server)).toEqual(["PATCH", "PATCH"]);
  });

  test.each([
    { name: "all", left: {} },
    { name: "one", left: { file_format: "fbx", renderer: null } },
    { name: "to empty texts", left: { file_format: "", renderer: "" } },
  ])("$name, and answers what is left: the record tells", async ({ left }) => {
    const { found, server } = await probeAt(() => shows(left), set);
    expect(found.probe).toBe("failed probe-contradicts-record");
    expect(methods(server)).toEqual(["PATCH"]);
  });

  test("where nothing is recorded: nothing to see is told as that", async () => {
    const { found, server } = await probeAt(() => shows({ is_native: false, renderer: null }));
    expect(found.probe).toBe("failed probe-shows-nothing");
    expect(methods(server)).toEqual(["PATCH"]);
  });

  test("by PUT, and answers the file as it was before: the look after it finds it", async () => {
    const { found, settings, checks } = await probeAt((_request, at) => shows(at < 3 ? set : {}));
    expect(found).toMatchObject({ probe: "ok probe-harmless", update_method: "failed method-put-changes" });
    expect(settings).toEqual({ "profile.update_method": "PATCH" });
    expect(checks.at(-1)?.finding.facts).toMatchObject({ before: set, after: {} });
  });

  test("by filling in defaults", async () => {
    const { found } = await probeAt((_request, at) => shows(at === 0 ? set : { ...set, renderer: "none" }));
    expect(found.probe).toBe("failed probe-harmful");
  });
});

test("a record that somebody has changed to another value is no sign of clearing", async () => {
  const { found } = await probeAt(() => shows({ ...set, renderer: "vray" }), set);
  expect(found.probe).toBe("ok probe-harmless");
});

describe("methods", () => {
  test("PATCH is not there: PUT is probed, and becomes the setting", async () => {
    const { found, settings, server } = await probeAt(({ method }) =>
      method === "PATCH" ? refusal(405) : shows(set),
    );
    expect(found).toMatchObject({
      probe: "ok probe-harmless",
      update_method: "warning method-patch-refused",
    });
    expect(settings).toEqual({ "profile.update_method": "PUT" });
    expect(methods(server)).toEqual(["PATCH", "PUT", "PUT"]);
  });

  test("neither is there", async () => {
    const { found, settings, server } = await probeAt(() => refusal(405));
    expect(found).toMatchObject({ probe: "failed probe-failed", update_method: "not_checked not-checked" });
    expect({ settings, methods: methods(server) }).toEqual({ settings: {}, methods: ["PATCH", "PUT"] });
  });

  test.each([
    { put: answer(204), finds: "not_known method-put-untold", calls: 4 },
    { put: refusal(422), finds: "warning method-put-refused", calls: 3 },
  ])("PUT ends otherwise: $finds", async ({ put, finds, calls }) => {
    const { found, server } = await probeAt(({ method }) => (method === "PUT" ? put : shows(set)));
    expect(found.update_method).toBe(finds);
    expect(server.requests).toHaveLength(calls);
  });
});

describe("answers that tell no file", () => {
  test.each([
    { reply: answer(204), finds: "not_known probe-untold" },
    { reply: answer(202, fileDocument(set)), finds: "warning probe-accepted" },
    { reply: refusal(404), finds: "not_known probe-not-attached" },
    { reply: refusal(422), finds: "warning probe-refused" },
    { reply: refusal(403), finds: "failed probe-failed" },
  ])("$finds, by one call", async ({ reply, finds }) => {
    const { found, server } = await probeAt(() => reply);
    expect(found.probe).toBe(finds);
    expect(server.requests).toHaveLength(1);
  });
});

test("another data.type is told with its setting, and the file is read all the same", async () => {
  const { found, settings } = await probeAt(() => shows(set, "asset_file"));
  expect(found).toMatchObject({ probe: "ok probe-harmless", data_type: "warning data-type-other" });
  expect(settings).toEqual({ "profile.types.product_file": "asset_file" });
});

test("data.id is the file id, or there is none", async () => {
  const withId = (id: unknown) => answer(200, { data: { type: "product_file", id, attributes: set } });
  expect((await probeAt(() => withId(String(target.fileId)))).found.data_id).toBe("ok data-id-is-file");
  expect((await probeAt(() => withId(undefined))).found.data_id).toBe("ok data-id-absent");
});
