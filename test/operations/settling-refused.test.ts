import { beforeEach, expect, test } from "vitest";
import { useWorkspace } from "../support/workspace.ts";

const { sandbox, proxy, folder, run, apply, confirmLedger } = useWorkspace({
  files: { "manifests/a.yaml": "draft: 1\nproduct_files: [{ file_id: 10, file_format: fbx }]\n" },
});
const errors = (status: number) =>
  JSON.stringify({ errors: [{ status: String(status), detail: "Ask Ada." }] });

beforeEach(confirmLedger);

test.each([
  { status: 401, code: "unauthorized", stops: true },
  { status: 405, code: "method-not-allowed", stops: false },
  { status: 409, code: "conflict", stops: false },
  { status: 422, code: "invalid", stops: false },
])(
  "a $status returned to the check of a lost attachment is printed with its reason",
  async ({ status, code, stops }) => {
    const headers = { "content-type": "application/vnd.api+json" };
    proxy.choose = ({ method }) =>
      method === "POST" ? { type: "lost" } : { type: "answer", status, headers, body: errors(status) };
    for (let run = 1; run <= 2; run += 1) {
      const { code: exit, stderr } = await apply();
      expect(exit).toBe(4);
      expect(stderr).toContain(`[${code}]`);
      expect(stderr).toContain("Ask Ada.");
      expect(stderr).toContain("whether it took effect could not be checked");
      expect(stderr.match(/run the command again|the next run checks/gi)).toHaveLength(1);
      expect(stderr.includes("the run stopped")).toBe(stops);
    }
    proxy.choose = () => undefined;
    expect((await apply()).code).toBe(0);
    expect(sandbox.state().attachments).toHaveLength(1);
  },
);

test("what keeps a file in doubt from being checked is printed", async () => {
  proxy.choose = () => ({ type: "lost" });
  expect((await apply()).code).toBe(4);
  const headers = { "content-type": "application/vnd.api+json", "retry-after": "900" };
  proxy.choose = () => ({ type: "answer", status: 429, headers, body: errors(429) });
  await run("uploads", "get", "any");
  proxy.choose = () => undefined;
  const { code, stderr } = await apply();
  expect(code).toBe(4);
  expect(stderr).toMatch(/in doubt: whether it took effect could not be checked: .*\[retry-after-too-long\]/);
});

test("checks of several files that are answered alike are one message", async () => {
  await folder.write({ "manifests/a.yaml": "draft: 1\nproduct_files: [{ file_id: 10 }, { file_id: 11 }]\n" });
  const headers = { "content-type": "application/vnd.api+json" };
  proxy.choose = ({ method }) =>
    method === "POST" ? { type: "lost" } : { type: "answer", status: 409, headers, body: errors(409) };
  const { code, stderr } = await apply();
  expect(code).toBe(4);
  expect(stderr.match(/could not be checked/g)).toHaveLength(1);
  expect(stderr).toContain("2 changes:");
});

test.each([
  { status: 409, what: "it took effect" },
  { status: 422, what: "the file is attached already" },
  { status: 429, what: "the file is attached already" },
])(
  "a refused check of an attachment that was answered with $status leaves it in doubt, and its draft is not published",
  async ({ status, what }) => {
    expect((await apply()).code).toBe(0);
    await folder.remove(".draftsync");
    await confirmLedger();
    const headers = { "content-type": "application/vnd.api+json", "retry-after": "0" };
    proxy.choose = ({ method }) =>
      method === "GET"
        ? undefined
        : { type: "answer", status: method === "POST" ? status : 403, headers, body: errors(status) };
    const { code, stderr } = await apply();
    expect(code).toBe(4);
    expect(stderr).toMatch(new RegExp(`in doubt: whether ${what} could not be checked: .* \\(403\\)`));
    expect(stderr).toMatch(
      /The next run checks this again.*`draftsync resolve drafts\/1\/product_files\/10 --done` or `--not-done`/,
    );
    proxy.choose = () => undefined;
    await folder.write({ "manifests/a.yaml": "draft: 1\nproduct_files: [{ file_id: 11 }]\npublish: true\n" });
    await apply();
    expect(await apply()).toMatchObject({ code: 5, stderr: expect.stringContaining("[maybe-published]") });
    expect(sandbox.state().products).toEqual([]);
  },
);

test("a publish that was not sent because the check before it failed is reported as not sent", async () => {
  expect((await apply()).code).toBe(0);
  await folder.write({ "manifests/a.yaml": `${await folder.read("manifests/a.yaml")}publish: true\n` });
  proxy.choose = () => ({ type: "answer", status: 503, body: "<html>busy</html>" });
  const { stderr } = await apply();
  expect(stderr).toContain("error: not sent, because the check before it failed: GET /api/uploads/0:");
  expect(sandbox.state().products).toEqual([]);
});
