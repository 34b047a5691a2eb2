import { createServer } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Sandbox } from "../../src/sandbox/server.ts";
import { startSandbox } from "../../src/sandbox/server.ts";
import type { Folder } from "../support/cli.ts";
import { draftsync, makeFolder } from "../support/cli.ts";
import { listenLocally } from "../support/listen.ts";

const key = "canary-key-91d0";
let folder: Folder;
let sandbox: Sandbox;
let other: ReturnType<typeof createServer>;
let otherUrl = "";
/** Response of the server that is not the service. */
let answer = { status: 404, type: "text/html", body: "<html><title>Not here</title></html>" };

beforeAll(async () => {
  sandbox = await startSandbox({ key });
  folder = await makeFolder({
    "draftsync.yaml": "version: 1\nworkspace: w\nservice: sandbox\n",
    "manifests/a.yaml": "draft: 1\nproduct_files:\n  - file_id: 10\n    file_format: fbx\n",
  });
  other = createServer((request, response) => {
    request.resume();
    response.writeHead(answer.status, { "content-type": answer.type }).end(answer.body);
  });
  otherUrl = `http://127.0.0.1:${await listenLocally(other)}`;
});

afterAll(async () => {
  await new Promise((closed) => other.close(closed));
  await sandbox.close();
  await folder.dispose();
});

/** Every run has its own ledger, because a ledger belongs to one service. */
let ledgers = 0;
async function apply(baseUrl: string, env: Record<string, string> = { DRAFTSYNC_API_KEY: key }) {
  ledgers += 1;
  const args = ["apply", "--auto-approve", "--base-url", baseUrl, "--state", `ledger-${ledgers}.db`];
  const ended = await draftsync(args, { cwd: folder.path, env });
  expect(`${ended.stdout}${ended.stderr}`).not.toContain(key);
  return ended;
}

describe("failure message", () => {
  test("names the variable of a missing key", async () => {
    const { code, stderr } = await apply(sandbox.url, {});
    expect(code).toBe(1);
    expect(stderr).toContain("no API key: DRAFTSYNC_API_KEY is not set");
    expect(stderr).toMatch(/hint: .*service\.api_key_file/);
  });

  test("rejects a key that would add a header", async () => {
    const { code, stderr } = await apply(sandbox.url, { DRAFTSYNC_API_KEY: `${key}\r\nX-Evil: 1` });
    expect(code).toBe(1);
    expect(stderr).toContain("[api-key-invalid]");
    expect(stderr).not.toContain("Evil");
  });

  test("explains https at a port that speaks http", async () => {
    const { code, stderr } = await apply(otherUrl.replace("http:", "https:"));
    expect(code).toBe(1);
    expect(stderr).toContain(
      "no secure connection to the service could be made: the port does not speak TLS  [tls-failed]",
    );
    expect(stderr).toMatch(/hint: .*scheme \(https or http\)/);
    expect(stderr).not.toMatch(/openssl|routines|\\n/i);
  });

  test("names an unknown host", async () => {
    const { stderr } = await apply("https://no-such-host.invalid");
    expect(stderr).toContain("no-such-host.invalid");
    expect(stderr).toMatch(/hint: .*base_url/);
  });

  test("suggests base_url for an address that is not the service's", async () => {
    answer = { status: 404, type: "text/html", body: "<html><title>Not here</title></html>" };
    const { stderr } = await apply(otherUrl);
    expect(stderr).toMatch(/hint: .*base_url/);
  });

  test("names the version for a 406", async () => {
    answer = {
      status: 406,
      type: "application/vnd.api+json",
      body: '{"errors":[{"status":"406","title":"Not Acceptable"}]}',
    };
    const { stderr } = await apply(otherUrl);
    expect(stderr).toContain("406");
    expect(stderr).toContain("version");
    expect(stderr).toContain("Not Acceptable");
  });

  test("rejects an address that is not http or https", async () => {
    const { code, stderr } = await apply("ftp://example.com");
    expect(code).toBe(1);
    expect(stderr).toContain("[base-url-invalid]");
  });
});
