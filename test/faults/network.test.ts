import { connect } from "node:net";
import { createServer } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Sandbox, startSandbox } from "../../src/sandbox/server.ts";
import { draftsync, type Folder, makeFolder } from "../support/cli.ts";
import { listenLocally } from "../support/listen.ts";
import { type ConnectProxy, startConnectProxy } from "../unit/service/support/connect-proxy.ts";
import { selfSigned } from "../unit/service/support/self-signed.ts";

const key = "canary-key-77d0";
let sandbox: Sandbox;
let folder: Folder;
let proxy: ConnectProxy;
/** A TLS proxy in front of the sandbox, with a self-signed certificate. */
let secureUrl: string;
const closers: (() => void)[] = [];

beforeAll(async () => {
  sandbox = await startSandbox({ key });
  proxy = await startConnectProxy(sandbox.port);
  const server = createServer(selfSigned, (socket) => {
    const onward = connect(sandbox.port, "127.0.0.1");
    socket.pipe(onward).pipe(socket);
    for (const end of [socket, onward]) end.on("error", () => socket.destroy());
  });
  secureUrl = `https://localhost:${await listenLocally(server)}`;
  closers.push(() => server.close());
  folder = await makeFolder({
    "draftsync.yaml": `version: 1\nworkspace: w\nservice: { base_url: ${secureUrl} }\n`,
    "trusting.yaml": `version: 1\nworkspace: w\nservice: { base_url: ${secureUrl}, ca_file: certs/own.pem }\n`,
    "plain.yaml":
      "version: 1\nworkspace: w\nservice: { base_url: 'http://service.example', allow_http: true }\n",
    "certs/own.pem": `Ours\n${selfSigned.cert}\n`,
    "certs/none.pem": "nothing\n",
  });
});
afterAll(async () => {
  for (const close of closers) close();
  await proxy.close();
  await sandbox.close();
  await folder.dispose();
});

/** Reads a product with a new ledger. */
let ledgers = 0;
function getProduct(config: string, env: Record<string, string> = {}) {
  ledgers += 1;
  const args = ["products", "get", "1", "--config", config, "--state", `ledger-${ledgers}.db`];
  return draftsync(args, { cwd: folder.path, env: { DRAFTSYNC_API_KEY: key, ...env } });
}

describe("TLS", () => {
  test("refuses a certificate of an unknown authority even with NODE_TLS_REJECT_UNAUTHORIZED=0", async () => {
    for (const env of [{}, { NODE_TLS_REJECT_UNAUTHORIZED: "0" }]) {
      const { code, stderr } = await getProduct("draftsync.yaml", env);
      expect(code).toBe(1);
      expect(stderr).toContain("[certificate-invalid]");
      expect(stderr).toContain("service.ca_file");
    }
  });

  test("accepts a certificate of an authority in service.ca_file or NODE_EXTRA_CA_CERTS", async () => {
    const own = await getProduct("trusting.yaml");
    expect([own.code, own.stderr]).toEqual([0, expect.not.stringContaining("error")]);
    const env = { NODE_EXTRA_CA_CERTS: `${folder.path}/certs/own.pem` };
    expect((await getProduct("draftsync.yaml", env)).code).toBe(0);
  });

  test.each([
    ["certs/none.pem", "ca-file-invalid"],
    ["certs/gone.pem", "ca-file-unreadable"],
  ])("refuses the authorities in %s with %s", async (file, code) => {
    const trusting = await folder.read("trusting.yaml");
    await folder.write({ "other.yaml": trusting.replace("certs/own.pem", file) });
    const { stderr } = await getProduct("other.yaml");
    expect(stderr).toContain(`[${code}]`);
    expect(stderr).toContain(file);
  });
});

describe("service without TLS", () => {
  test("is refused on another machine before anything is sent", async () => {
    const { code, stderr } = await draftsync(
      ["products", "get", "1", "--base-url", "http://service.example"],
      {
        cwd: folder.path,
        env: { DRAFTSYNC_API_KEY: key, HTTP_PROXY: proxy.url },
      },
    );
    expect([code, stderr]).toEqual([1, expect.stringContaining("[base-url-not-https]")]);
    expect(stderr).toContain("service.allow_http");
    expect(proxy.requests).toEqual([]);
  });

  test("is reported on every run when allow_http is set, and is reached through the proxy", async () => {
    const { code, stderr } = await getProduct("plain.yaml", { HTTP_PROXY: proxy.url });
    expect(code).toBe(0);
    expect(stderr).toContain("warning: http://service.example is not https");
    expect(proxy.requests).toEqual([{ authority: "service.example:80", authorization: undefined }]);
  });

  test("is reached without the proxy if NO_PROXY names it", async () => {
    const before = proxy.requests.length;
    const env = { HTTP_PROXY: proxy.url.replace("//", "//ann:hunter2@"), NO_PROXY: "other.example,.example" };
    const { code, stdout, stderr } = await getProduct("plain.yaml", env);
    expect(code).toBe(1);
    expect(proxy.requests).toHaveLength(before);
    expect(stdout + stderr).not.toContain("hunter2");
  });
});
