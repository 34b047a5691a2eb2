import { readdir } from "node:fs/promises";
import { connect } from "node:net";
import { createServer } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Sandbox, startSandbox } from "../../src/sandbox/server.ts";
import { draftsync, type Folder, makeFolder, startDraftsync } from "../support/cli.ts";
import { examine, usual } from "../support/doctor.ts";
import { listenLocally, unusedPort } from "../support/listen.ts";
import { startConnectProxy } from "../unit/service/support/connect-proxy.ts";
import { answer, startRawServer } from "../unit/service/support/raw-server.ts";
import { exampleSigned, expiredSigned, selfSigned } from "../unit/service/support/self-signed.ts";

const key = "canary-key-90fe";
let sandbox: Sandbox;
let folder: Folder;
const closers: (() => unknown)[] = [];

/** TLS before the sandbox. */
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

/** In a config of its own, with a ledger of its own. */
let configs = 0;
async function examineWith(service: string, env: Record<string, string> = {}, more: readonly string[] = []) {
  configs += 1;
  await folder.write({ [`config-${configs}.yaml`]: configFor(service) });
  const args = ["--config", `config-${configs}.yaml`, "--state", `ledger-${configs}.db`, ...more];
  return examine(args, { cwd: folder.path, env: { DRAFTSYNC_API_KEY: key, ...env } });
}

describe("TLS", () => {
  test.each([
    { name: "expired", certificate: expiredSigned, ca: "", finds: "failed tls-expired" },
    { name: "of nobody that is known", certificate: selfSigned, ca: "", finds: "failed tls-untrusted" },
    {
      name: "of another host",
      certificate: exampleSigned,
      ca: "certs/example.pem",
      finds: "failed tls-other-name",
    },
  ])(
    "a certificate that is $name: told as that, and nothing was sent",
    async ({ certificate, ca, finds }) => {
      const url = `https://localhost:${await startTls(certificate)}`;
      const trusting = ca === "" ? "" : `, ca_file: ${ca}`;
      const { code, found } = await examineWith(`base_url: "${url}"${trusting}`);
      expect({ code, found }).toMatchObject({
        code: 1,
        found: { tls: finds, address: "failed address-unreachable", key_accepted: "not_checked not-checked" },
      });
    },
  );

  test("a certificate of an authority in ca_file: its name, its end, and the version", async () => {
    const url = `https://localhost:${await startTls(selfSigned)}`;
    const { code, found, view } = await examineWith(`base_url: "${url}", ca_file: certs/own.pem`);
    expect({ code, tls: found.tls, authorities: found.ca_file }).toEqual({
      code: 0,
      tls: "ok tls-good",
      authorities: "ok authorities-own",
    });
    const facts = view.checks.find(({ name }) => name === "tls")?.facts;
    expect(facts).toMatchObject({
      protocol: "TLSv1.3",
      subject: "localhost",
      endsAt: "2126-10-28T00:04:53.000Z",
    });
  });
});

describe("a proxy", () => {
  test("is named without its password, and the service behind it is seen", async () => {
    const proxy = await startConnectProxy(await startTls(exampleSigned));
    closers.push(() => proxy.close());
    const HTTPS_PROXY = proxy.url.replace("//", "//ann:hunter2@");
    const given = "base_url: https://service.example, ca_file: certs/example.pem";
    const { code, found, view, stderr } = await examineWith(given, { HTTPS_PROXY });
    expect({ code, found }).toMatchObject({ code: 0, found: { proxy: "ok proxy-used", tls: "ok tls-good" } });
    expect(JSON.stringify(view)).toContain(new URL(proxy.url).host);
    expect(JSON.stringify(view) + stderr).not.toContain("hunter2");
  });

  test("that refuses, or is none: the check that fails says so", async () => {
    const proxy = await startConnectProxy(1, 403);
    closers.push(() => proxy.close());
    const given = "base_url: https://service.example";
    const refused = await examineWith(given, { HTTPS_PROXY: proxy.url });
    expect(refused.found.address).toBe("failed address-unreachable");
    expect(JSON.stringify(refused.view)).toContain("proxy-refused");
    const none = await examineWith(given, { HTTPS_PROXY: "socks5://127.0.0.1:1" });
    expect(none.found).toMatchObject({
      proxy: "failed options-unusable",
      address: "not_checked not-checked",
    });
  });
});

describe("what is not there yet", () => {
  test("a config: the address is enough, and nothing is written", async () => {
    const empty = await makeFolder();
    const options = { cwd: empty.path, env: { DRAFTSYNC_API_KEY: key } };
    const { code, found } = await examine(["--base-url", sandbox.url], options);
    expect({ code, found }).toMatchObject({
      code: 0,
      found: { ...usual, config: "ok config-absent", ledger: "ok ledger-none" },
    });
    expect(await readdir(empty.path)).toEqual([]);
    const nothing = await examine([], options);
    expect(nothing.code).toBe(1);
    expect(nothing.found).toMatchObject({
      config: "failed config-unusable",
      address: "not_checked not-checked",
    });
    await empty.dispose();
  });

  test("a key: nothing is sent, and no ledger made", async () => {
    const { code, found, view } = await examineWith(`base_url: "${sandbox.url}"`, { DRAFTSYNC_API_KEY: "" });
    expect({ code, calls: view.calls, settings: view.settings }).toEqual({ code: 1, calls: 0, settings: {} });
    expect(found).toMatchObject({
      key: "failed key-unusable",
      ledger: "ok ledger-missing",
      address: "not_checked not-checked",
    });
  });

  test("a key that cannot be sent is not shown", async () => {
    const given = `base_url: "${sandbox.url}"`;
    const { found, view } = await examineWith(given, { DRAFTSYNC_API_KEY: "two words" });
    expect(found.key).toBe("failed options-unusable");
    expect(JSON.stringify(view)).not.toContain("two words");
  });

  test("a key file that others can read is a warning", async () => {
    await folder.write({ "key.txt": `${key}\n` });
    const given = `base_url: "${sandbox.url}", api_key_file: key.txt`;
    const { code, found } = await examineWith(given, { DRAFTSYNC_API_KEY: "" });
    expect({ code, found }).toMatchObject({ code: 0, found: { ...usual, key: "warning key-file-open" } });
  });

  test("a config without mistakes: the first one is told, at its line", async () => {
    await folder.write({ "wrong.yaml": "version: 1\nworkspace: w\nservce: sandbox\n" });
    const { code, found, view } = await examine(["--config", "wrong.yaml"], { cwd: folder.path });
    expect({ code, config: found.config }).toEqual({ code: 1, config: "failed config-unusable" });
    expect(JSON.stringify(view)).toContain("wrong.yaml:3:1");
  });
});

describe("the ledger", () => {
  test("that cannot be opened keeps calls from being sent: the bound is in it", async () => {
    await folder.write({ "broken.db": "no ledger at all, but a text that is long enough to be looked at" });
    const { code, found, view } = await examineWith(`base_url: "${sandbox.url}"`, {}, [
      "--state",
      "broken.db",
    ]);
    expect({ code, calls: view.calls }).toEqual({ code: 1, calls: 0 });
    expect(found).toMatchObject({ ledger: "failed ledger-unusable", address: "not_checked not-checked" });
  });

  test("of another service keeps the key from being sent", async () => {
    await folder.write({ "manifests/a.yaml": "draft: 1\nproduct_files: [{ file_id: 1 }]\n" });
    const options = { cwd: folder.path, env: { DRAFTSYNC_API_KEY: key } };
    expect((await draftsync(["apply", "--auto-approve"], options)).code).toBe(0);
    const other = sandbox.url.replace("127.0.0.1", "localhost");
    const { code, found, view } = await examine(["--base-url", other], options);
    expect({ code, calls: view.calls, found }).toMatchObject({
      code: 1,
      calls: 0,
      found: { ledger: "failed ledger-unusable", address: "not_checked not-checked" },
    });
  });
});

describe("a service that is not there", () => {
  test("in words: what failed, what to do, and what was not checked", async () => {
    const url = `http://127.0.0.1:${await unusedPort()}`;
    const options = { cwd: folder.path, env: { DRAFTSYNC_API_KEY: key } };
    const { code, stdout } = await draftsync(["doctor", "--base-url", url, "--state", "gone.db"], options);
    expect(code).toBe(1);
    expect(stdout).toMatch(/failed +address +GET \/api\/products\/1: .*\n +→ /);
    expect(stdout).toMatch(/not checked +key accepted +the service was not reached/);
  });

  test("an interrupt while it keeps silent: what was seen so far is told, and the exit code is its own", async () => {
    let arrived = () => {};
    const firstCall = new Promise<void>((done) => {
      arrived = done;
    });
    const server = await startRawServer((_request, at) => {
      if (at === 0) return answer(404, { errors: [] });
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
