import { createServer } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
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
const notTheService = { status: 404, type: "text/html", body: "<html><title>Not here</title></html>" };
let answer = notTheService;

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

test.each([
  {
    name: "a missing key",
    url: () => sandbox.url,
    env: {},
    shows: [/no API key: DRAFTSYNC_API_KEY is not set/, /hint: .*service\.api_key_file/],
  },
  {
    name: "a key that would add a header",
    url: () => sandbox.url,
    env: { DRAFTSYNC_API_KEY: `${key}\r\nX-Evil: 1` },
    shows: [/\[api-key-invalid\]/],
    hides: /Evil/,
  },
  {
    name: "https at a port that speaks http",
    url: () => otherUrl.replace("http:", "https:"),
    shows: [
      /no secure connection to the service could be made: the port does not speak TLS {2}\[tls-failed\]/,
      /hint: .*scheme \(https or http\)/,
    ],
    hides: /openssl|routines|\\n/i,
  },
  {
    name: "an unknown host",
    url: () => "https://no-such-host.invalid",
    shows: [/no-such-host\.invalid/, /hint: .*base_url/],
  },
  { name: "an address that is not the service's", exit: 3, url: () => otherUrl, shows: [/hint: .*base_url/] },
  {
    name: "an unsupported version",
    exit: 3,
    url: () => otherUrl,
    response: {
      status: 406,
      type: "application/vnd.api+json",
      body: '{"errors":[{"status":"406","title":"Not Acceptable"}]}',
    },
    shows: [/406/, /version/, /Not Acceptable/],
  },
  {
    name: "an address that is not http or https",
    url: () => "ftp://example.com",
    shows: [/\[base-url-invalid\]/],
  },
])("apply explains $name", async ({ url, exit = 1, env, response = notTheService, shows, hides }) => {
  answer = response;
  const { code, stderr } = await apply(url(), env);
  expect(code).toBe(exit);
  for (const text of shows) expect(stderr).toMatch(text);
  if (hides !== undefined) expect(stderr).not.toMatch(hides);
});
