import { execFileSync } from "node:child_process";
import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Sandbox } from "../../src/sandbox/server.ts";
import { startSandbox } from "../../src/sandbox/server.ts";
import type { Folder } from "../support/cli.ts";
import { draftsync, makeFolder } from "../support/cli.ts";
import type { FaultyProxy } from "../support/faulty-proxy.ts";
import { startFaultyProxy } from "../support/faulty-proxy.ts";

const key = "canary-key-3ad9";
let sandbox: Sandbox;
let proxy: FaultyProxy;
let folder: Folder;

const entry = (line: string) => `draft: 1\nproduct_files:\n  - file_id: 2\n    ${line}\n`;
const levels = 20_000;

function bomb(): string {
  const names = [..."abcdefghij"];
  const lines = names.map((name, at) => {
    const inner = Array.from({ length: 10 }, () => (at === 0 ? "x" : `*${names[at - 1]}`));
    return `${name}: &${name} [${inner.join(", ")}]`;
  });
  return `draft: 1\n${lines.join("\n")}\n`;
}

/** Manifests by name, each with the error code it must be reported with. */
const hostile: Readonly<Record<string, readonly [content: string | Uint8Array, code: string]>> = {
  "alias-bomb": [bomb(), "alias-bomb"],
  "alias-to-itself": ["draft: 1\nproduct_files: &a [*a]\n", "cyclic-alias"],
  "merge-chain": ["draft: 1\nx: &x { a: 1 }\ny: &y { <<: *x }\nz: { <<: *y }\n", "merge-key"],
  "large-id": ["draft: 9007199254740993\n", "number-out-of-range"],
  "leading-zero": ["draft: 00123\n", "ambiguous-number"],
  "unknown-tag": [entry("renderer: !secret x"), "yaml-tag"],
  "two-unicode-forms": ["draft: 1\ncaf\u00e9: 1\ncafe\u0301: 2\n", "key-collision"],
  "deep-brackets": [
    `draft: 1\nproduct_files: ${"[".repeat(levels)}${"]".repeat(levels)}\n`,
    "nesting-too-deep",
  ],
  "deep-braces": [`${"{a: ".repeat(levels)}1${"}".repeat(levels)}\n`, "nesting-too-deep"],
  proto: ["draft: 1\n__proto__: { protect: true }\n", "unknown-key"],
  empty: ["", "empty-file"],
  large: [Buffer.alloc(50 * 1024 * 1024, "#"), "manifest-too-large"],
  "bare-version": [entry("format_version: 1.10"), "unquoted-text"],
  tab: ["draft: 1\n\tprotect: true\n", "yaml-tab"],
  "utf-16": [Buffer.from("\ufeffdraft: 1\n", "utf16le"), "not-utf8"],
  "escape-in-name": [entry('renderer: "a\\e[31mb"'), "control-character"],
  "bidi-in-name": [entry('renderer: "a\\u202eb"'), "unfit-name"],
  "carriage-return-in-name": [entry('renderer: "a\\rb"'), "control-character"],
  "pipe-as-source": ["draft: 31\nproduct_files: [{ source: pipe }]\n", "source-not-a-file"],
  "device-as-source": ["draft: 32\nproduct_files: [{ source: device }]\n", "source-outside-workspace"],
  "source-outside": ["draft: 33\nproduct_files: [{ source: ../../x }]\n", "source-outside-workspace"],
};

/** Valid manifests with unusual bytes. */
const valid = {
  "manifests/bom.yaml": "\ufeffdraft: 41\nproduct_files: [{ file_id: 1 }]\n",
  "manifests/crlf.yaml": "draft: 42\r\nproduct_files: [{ file_id: 3 }]\r\n",
};

beforeAll(async () => {
  sandbox = await startSandbox({ key });
  proxy = await startFaultyProxy(sandbox.url);
  folder = await makeFolder({
    "draftsync.yaml": `version: 1\nworkspace: w\nservice: { base_url: "${proxy.url}" }\n`,
    ...valid,
    ...Object.fromEntries(
      Object.entries(hostile).map(([name, [content]]) => [`manifests/${name}.yaml`, content]),
    ),
  });
  execFileSync("mkfifo", [join(folder.path, "manifests/pipe")]);
  await symlink("/dev/zero", join(folder.path, "manifests/device"));
});
afterAll(async () => {
  await proxy.close();
  await sandbox.close();
  await folder.dispose();
});

const run = (...args: string[]) => draftsync(args, { cwd: folder.path, env: { DRAFTSYNC_API_KEY: key } });

test.each([["validate"], ["plan"], ["apply", "--auto-approve"]])(
  "%s reports every hostile manifest with its location and does nothing else",
  async (...args) => {
    const { code, stdout, stderr } = await run(...args);
    expect(code).toBe(1);
    const reported = stdout + stderr;
    const places = [...reported.matchAll(/\[([a-z0-9-]+)\]\n *--> manifests\/([a-z0-9-]+)\.yaml:/g)];
    const found = new Set(places.map(([, error, name]) => `${name} ${error}`));
    for (const [name, [, error]] of Object.entries(hostile)) expect(found).toContain(`${name} ${error}`);
    expect(reported).not.toMatch(/manifests\/(bom|crlf)\.yaml/);
    expect(reported).not.toContain("\u001b");
    expect(proxy.seen).toEqual([]);
  },
);
