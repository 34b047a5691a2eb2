import { expect, test } from "vitest";
import { useWorkspace } from "../support/workspace.ts";

const { proxy, sandbox, folder, run, apply } = useWorkspace({
  files: { "manifests/a.yaml": "draft: 1\n" },
  service: { profile: "{ upload_deadline: 300ms, upload_poll_min: 50ms }" },
});

/** The service returns this status for every upload. */
function answerWith(status: string): void {
  const headers = { "content-type": "application/vnd.api+json; com.service.api.version=1" };
  proxy.choose = ({ method, path }) => {
    const [, id] = /^\/api\/uploads\?filter%5Bid%5D=(.+)$/.exec(path) ?? [];
    if (method !== "GET" || id === undefined) return undefined;
    const body = JSON.stringify({ data: [{ type: "upload", id, attributes: { status } }] });
    return { type: "answer", status: 200, headers, body };
  };
}

test("uploads create --wait exits with 3 when the service fails to process the upload", async () => {
  answerWith("failed");
  const { code, stdout } = await run("uploads", "create", "--key", "incoming/a.mp4", "--wait");
  expect(JSON.parse(stdout)).toMatchObject({ status: "failed" });
  expect(code).toBe(3);
});

test("uploads create --wait names the command to continue with when it times out", async () => {
  answerWith("queued");
  const { code, stderr } = await run("uploads", "create", "--key", "incoming/a.mp4", "--wait");
  expect(code).not.toBe(0);
  expect(stderr).toMatch(/draftsync uploads get \S+` shows its status/);
});

test("apply attaches no file of an upload that is answered with another object", async () => {
  const headers = { "content-type": "application/vnd.api+json" };
  const answer = (status: number, data: unknown) =>
    ({ type: "answer", status, headers, body: JSON.stringify({ data }) }) as const;
  proxy.choose = ({ method, path, body }) => {
    if (!path.startsWith("/api/uploads")) return undefined;
    if (method === "POST") {
      const { upload_key } = JSON.parse(body).data.attributes;
      return answer(201, { type: "upload", id: "u", attributes: { upload_key, status: "queued" } });
    }
    const attributes = { upload_key: "another", status: "success", file_id: 9 };
    return answer(200, [{ type: "upload", id: "u", attributes }]);
  };
  await folder.write({ "manifests/a.yaml": "draft: 1\nproduct_files: [{ upload_key: mine }]\n" });
  for (const _run of [1, 2]) {
    const { code, stderr } = await apply();
    expect(stderr).toContain("the response names the object another, not mine");
    expect(code).toBe(3);
  }
  expect(sandbox.state().attachments).toEqual([]);
});

test.each(["registration", "poll"])(
  "apply attaches no file of an upload whose %s is answered with the file of different content",
  async (step) => {
    const entry = (draft: number, source: string) =>
      `draft: ${draft}\nproduct_files: [{ source: ../${source} }]\n`;
    await folder.write({ "a.glb": "first", "b.glb": "second", "manifests/a.yaml": entry(1, "a.glb") });
    expect((await apply()).code).toBe(0);
    const [first] = sandbox.state().attachments;
    const headers = { "content-type": "application/vnd.api+json" };
    const answer = (status: number, data: unknown) =>
      ({ type: "answer", status, headers, body: JSON.stringify({ data }) }) as const;
    const done = { type: "upload", id: "u", attributes: { status: "success", file_id: first?.fileId } };
    const queued = { type: "upload", id: "u", attributes: { status: "queued" } };
    proxy.choose = ({ method, path }) => {
      if (method === "POST" && path === "/api/uploads") return answer(201, step === "poll" ? queued : done);
      return method === "GET" && path.startsWith("/api/uploads?") ? answer(200, [done]) : undefined;
    };
    await folder.write({ "manifests/b.yaml": entry(2, "b.glb") });
    const { code, stderr } = await apply();
    expect(stderr).toContain(`file ${first?.fileId}, which was made from different content`);
    expect(code).toBe(3);
    proxy.choose = () => undefined;
    expect((await apply()).code).toBe(0);
    expect(new Set(sandbox.state().attachments.map(({ fileId }) => fileId)).size).toBe(2);
  },
);

test("a saved plan stores bytes again that the service did not keep", async () => {
  await folder.write({
    "a.glb": "content",
    "manifests/a.yaml": "draft: 1\nproduct_files: [{ source: ../a.glb }]\n",
  });
  const headers = { "content-type": "application/vnd.api+json" };
  const refuse = (status: number) => {
    proxy.choose = ({ method, path }) =>
      method === "POST" && path === "/api/uploads"
        ? { type: "answer", status, headers, body: JSON.stringify({ errors: [{ status: `${status}` }] }) }
        : undefined;
  };
  refuse(503);
  expect((await apply()).code).toBe(3);
  expect((await run("plan", "--out", "plan.json")).stdout).toContain("in storage already");
  refuse(422);
  expect((await run("apply", "plan.json", "--auto-approve")).code).toBe(3);
  proxy.choose = () => undefined;
  const { code, stderr } = await run("apply", "plan.json", "--auto-approve");
  expect([code, stderr]).toEqual([0, expect.stringContaining("4 calls")]);
});
