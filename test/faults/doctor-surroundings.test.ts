import { readdir } from "node:fs/promises";
import { connect } from "node:net";
import { createServer } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Sandbox, startSandbox } from "../../src/sandbox/server.ts";
import { draftsync, type Folder, makeFolder, startDraftsync } from "../support/cli.ts";
import { doctor, usual } from "../support/doctor.ts";
import { listenLocally, unusedPort } from "../support/listen.ts";
import { startConnectProxy } from "../unit/service/support/connect-proxy.ts";
import { answer, startRawServer } from "../unit/service/support/raw-server.ts";
import { exampleSigned, expiredSigned, selfSigned } from "../unit/service/support/self-signed.ts";

const key = "canary-key-90fe";
let sandbox: Sandbox;
let folder: Folder;
const closers: (() => unknown)[] = [];

/** Starts a TLS proxy in front of the sandbox. */
async function startTls(certificate: { key: string; cert: string }): Promise<number> {
  const server = createServer(certificate, (socket) => {
    const onward = connect(sandbox.port, "127.0.0.1");
    socket.pipe(onward).pipe(socket);
    for (const end of [socket, onward]) end.on("error", () => socket.destroy());
  });
  closers.push(() => server.close());
  return listenLocally(server);
}

const configFor = (service: string) => `version: 1\nworkspace: w\nservice: { ${service} }\n`;

beforeAll(async () => {
  sandbox = await startSandbox({ key });
  folder = await makeFolder({
    "draftsync.yaml": configFor(`base_url: "${sandbox.url}"`),
    "certs/own.pem": selfSigned.cert,
    "certs/example.pem": exampleSigned.cert,
  });
});
afterAll(async () => {
  for (const close of closers) await close();
  await sandbox.close();
  await folder.dispose();
});

/** Runs doctor with its own config and ledger. */
let configs = 0;
async function doctorWith(service: string, env: Record<string, string> = {}, more: readonly string[] = []) {
  configs += 1;
  await folder.write({ [`config-${configs}.yaml`]: configFor(service) });
  const args = ["--config", `config-${configs}.yaml`, "--state", `ledger-${configs}.db`, ...more];
  return doctor(args, { cwd: folder.path, env: { DRAFTSYNC_API_KEY: key, ...env } });
}

describe("doctor with TLS", () => {
  test.each([
    { name: "expired", certificate: expiredSigned, ca: "", finds: "failed tls-expired" },
    { name: "of an unknown authority", certificate: selfSigned, ca: "", finds: "failed tls-untrusted" },
    {
      name: "of a different host",
      certificate: exampleSigned,
      ca: "certs/example.pem",
      finds: "failed tls-wrong-host",
    },
  ])("reports a certificate that is $name, and sends nothing", async ({ certificate, ca, finds }) => {
    const url = `https://localhost:${await startTls(certificate)}`;
    const trusting = ca === "" ? "" : `, ca_file: ${ca}`;
    const { code, found } = await doctorWith(`base_url: "${url}"${trusting}`);
    expect({ code, found }).toMatchObject({
      code: 1,
      found: { tls: finds, address: "failed address-unreachable", key_accepted: "skipped check-skipped" },
    });
  });

  test("reports the name, expiry and TLS version of a certificate that ca_file trusts", async () => {
    const url = `https://localhost:${await startTls(selfSigned)}`;
    const { code, found, view } = await doctorWith(`base_url: "${url}", ca_file: certs/own.pem`);
    expect({ code, tls: found.tls, authorities: found.ca_file }).toEqual({
      code: 0,
      tls: "ok tls-valid",
      authorities: "ok authorities-added",
    });
    const details = view.checks.find(({ name }) => name === "tls")?.details;
    expect(details).toMatchObject({
      protocol: "TLSv1.3",
      subject: "localhost",
      expires_at: "2126-10-28T00:04:53.000Z",
    });
  });
});

describe("doctor with a proxy", () => {
  test("names the proxy without its password and checks the service behind it", async () => {
    const proxy = await startConnectProxy(await startTls(exampleSigned));
    closers.push(() => proxy.close());
    const HTTPS_PROXY = proxy.url.replace("//", "//ann:hunter2@");
    const given = "base_url: https://service.example, ca_file: certs/example.pem";
    const { code, found, view, stderr } = await doctorWith(given, { HTTPS_PROXY });
    expect({ code, found }).toMatchObject({
      code: 0,
      found: { proxy: "ok proxy-used", tls: "ok tls-valid" },
    });
    expect(JSON.stringify(view)).toContain(new URL(proxy.url).host);
    expect(JSON.stringify(view) + stderr).not.toContain("hunter2");
  });

  test("reports a proxy that refuses the connection or has an invalid address", async () => {
    const proxy = await startConnectProxy(1, 403);
    closers.push(() => proxy.close());
    const given = "base_url: https://service.example";
    const refused = await doctorWith(given, { HTTPS_PROXY: proxy.url });
    expect(refused.found.address).toBe("failed address-unreachable");
    expect(JSON.stringify(refused.view)).toContain("proxy-refused");
    const none = await doctorWith(given, { HTTPS_PROXY: "socks5://127.0.0.1:1" });
    expect(none.found).toMatchObject({
      proxy: "failed options-unusable",
      address: "skipped check-skipped",
    });
  });
});

describe("doctor with a missing or invalid setting", () => {
  test("checks the address of --base-url without a config, and writes nothing", async () => {
    const empty = await makeFolder();
    const options = { cwd: empty.path, env: { DRAFTSYNC_API_KEY: key } };
    const { code, found } = await doctor(["--base-url", sandbox.url], options);
    expect({ code, found }).toMatchObject({
      code: 0,
      found: { ...usual, config: "ok config-absent", ledger: "ok ledger-none" },
    });
    expect(await readdir(empty.path)).toEqual([]);
    const nothing = await doctor([], options);
    expect(nothing.code).toBe(1);
    expect(nothing.found).toMatchObject({
      config: "failed config-unusable",
      address: "skipped check-skipped",
    });
    await empty.dispose();
  });

  test("sends nothing without a key, and creates no ledger", async () => {
    const { code, found, view } = await doctorWith(`base_url: "${sandbox.url}"`, { DRAFTSYNC_API_KEY: "" });
    expect({ code, calls: view.calls, settings: view.settings }).toEqual({ code: 1, calls: 0, settings: {} });
    expect(found).toMatchObject({
      key: "failed key-unusable",
      ledger: "ok ledger-missing",
      address: "skipped check-skipped",
    });
  });

  test("does not print a key that cannot be sent", async () => {
    const given = `base_url: "${sandbox.url}"`;
    const { found, view } = await doctorWith(given, { DRAFTSYNC_API_KEY: "two words" });
    expect(found.key).toBe("failed options-unusable");
    expect(JSON.stringify(view)).not.toContain("two words");
  });

  test("warns about a key file that other users can read", async () => {
    await folder.write({ "key.txt": `${key}\n` });
    const given = `base_url: "${sandbox.url}", api_key_file: key.txt`;
    const { code, found } = await doctorWith(given, { DRAFTSYNC_API_KEY: "" });
    expect({ code, found }).toMatchObject({ code: 0, found: { ...usual, key: "warning key-file-open" } });
  });

  test("reports the first error of a config with its line", async () => {
    await folder.write({ "wrong.yaml": "version: 1\nworkspace: w\nservce: sandbox\n" });
    const { code, found, view } = await doctor(["--config", "wrong.yaml"], { cwd: folder.path });
    expect({ code, config: found.config }).toEqual({ code: 1, config: "failed config-unusable" });
    expect(JSON.stringify(view)).toContain("wrong.yaml:3:1");
  });
});

describe("doctor with an unusable ledger", () => {
  test("makes no call, because the ledger keeps the rate limit", async () => {
    await folder.write({ "broken.db": "no ledger at all, but a text that is long enough to be checked" });
    const { code, found, view } = await doctorWith(`base_url: "${sandbox.url}"`, {}, [
      "--state",
      "broken.db",
    ]);
    expect({ code, calls: view.calls }).toEqual({ code: 1, calls: 0 });
    expect(found).toMatchObject({ ledger: "failed ledger-unusable", address: "skipped check-skipped" });
  });

  test("makes no call with the key if the ledger belongs to a different service", async () => {
    await folder.write({ "manifests/a.yaml": "draft: 1\nproduct_files: [{ file_id: 1 }]\n" });
    const options = { cwd: folder.path, env: { DRAFTSYNC_API_KEY: key } };
    expect((await draftsync(["apply", "--auto-approve"], options)).code).toBe(0);
    const other = sandbox.url.replace("127.0.0.1", "localhost");
    const { code, found, view } = await doctor(["--base-url", other], options);
    expect({ code, calls: view.calls, found }).toMatchObject({
      code: 1,
      calls: 0,
      found: { ledger: "failed ledger-unusable", address: "skipped check-skipped" },
    });
  });
});

describe("doctor with a service that does not respond", () => {
  test("reports the failure with a hint and the skipped checks", async () => {
    const url = `http://127.0.0.1:${await unusedPort()}`;
    const options = { cwd: folder.path, env: { DRAFTSYNC_API_KEY: key } };
    const { code, stdout } = await draftsync(["doctor", "--base-url", url, "--state", "gone.db"], options);
    expect(code).toBe(1);
    expect(stdout).toMatch(/failed +address +GET \/api\/products\/1: .*\n +→ /);
    expect(stdout).toMatch(/skipped +key accepted +the service was not reached/);
  });

  test("prints a report after an interrupt and exits with 130", async () => {
    let arrived = () => {};
    const firstCall = new Promise<void>((done) => {
      arrived = done;
    });
    const server = await startRawServer((_request, at) => {
      if (at === 0) return answer(404, { errors: [{ status: "404" }] });
      arrived();
      return () => {};
    });
    closers.push(() => server.close());
    const options = { cwd: folder.path, env: { DRAFTSYNC_API_KEY: key } };
    const running = startDraftsync(["doctor", "--base-url", server.url, "--state", "cut.db"], options);
    await firstCall;
    running.kill("SIGINT");
    running.kill("SIGINT");
    const { code, stdout } = await running.ended;
    expect({ code, stdout }).toEqual({ code: 130, stdout: expect.stringContaining("interrupted") });
    expect(server.requests).toHaveLength(2);
  });
});
