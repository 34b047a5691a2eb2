import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { loadScript, type ScriptFiles, sealCompiled } from "../../../src/cli/load-script.ts";

const text = `(function (exports, require, __filename, importModule) {
  exports.name = __filename;
  exports.join = (...parts) => require("node:path").posix.join(...parts);
  exports.load = (specifier) => importModule(specifier);
  exports.fail = () => { throw new Error("from the script"); };
})`;

let folder: string;
let files: ScriptFiles;
const importModule = async (specifier: string) => ({ specifier });
const load = () => loadScript(files, importModule);

function use(name: string): void {
  files = {
    source: pathToFileURL(join(folder, `${name}.cjs`)),
    compiled: pathToFileURL(join(folder, `${name}.v8`)),
  };
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "draftsync-script-"));
  use("a");
  writeFileSync(files.source, text);
});

afterEach(() => rmSync(folder, { recursive: true }));

/** Calls what the script exports under a name. */
function call({ exports }: ReturnType<typeof load>, name: string, ...args: readonly unknown[]): unknown {
  const found = exports[name];
  if (typeof found !== "function") throw new TypeError(`${name} is no function`);
  return found(...args);
}

function keepCompiled(): Uint8Array {
  const loaded = load();
  call(loaded, "join", "a", "b");
  const sealed = sealCompiled(loaded.script.createCachedData());
  writeFileSync(files.compiled, sealed);
  return sealed;
}

/** V8 remembers what it has compiled in this process by its name. */
function rename(): void {
  const { source, compiled } = files;
  use("b");
  renameSync(source, files.source);
  renameSync(compiled, files.compiled);
}

async function works(): Promise<void> {
  const loaded = load();
  expect(loaded.exports.name).toBe(fileURLToPath(files.source));
  expect(call(loaded, "join", "a", "b")).toBe("a/b");
  expect(await call(loaded, "load", "./b.js")).toEqual({ specifier: "./b.js" });
}

describe("loadScript", () => {
  test("runs the source where nothing compiled is there", async () => {
    await works();
    expect(load().script.cachedDataRejected).toBeUndefined();
  });

  test("takes what V8 made of it before", async () => {
    keepCompiled();
    rename();
    expect(load().script.cachedDataRejected).toBe(false);
    await works();
  });

  test("is traced to the lines of its source, under the name it was built with", () => {
    keepCompiled();
    rename();
    expect(() => call(load(), "fail")).toThrow(
      expect.objectContaining({ stack: expect.stringMatching(/ at .*\(a\.cjs:5:\d+\)/) }),
    );
  });

  test("never hands damaged data to V8, wherever the damage is", async () => {
    const sealed = keepCompiled();
    for (let at = 0; at < sealed.length; at += 37) {
      const damaged = Buffer.from(sealed);
      damaged.writeUInt8(damaged.readUInt8(at) ^ 1, at);
      writeFileSync(files.compiled, damaged);
      expect(load().script.cachedDataRejected, `byte ${at}`).toBeUndefined();
    }
    await works();
  });

  test.each([
    { what: "an empty file", bytes: () => Buffer.alloc(0) },
    { what: "less than a seal", bytes: () => Buffer.alloc(3) },
    { what: "a torn file", bytes: (sealed: Uint8Array) => sealed.subarray(0, sealed.length >> 1) },
    {
      what: "a file whose end was never written",
      bytes: (sealed: Uint8Array) =>
        Buffer.concat([sealed.subarray(0, 200), Buffer.alloc(sealed.length - 200)]),
    },
  ])("compiles the source beside $what", async ({ bytes }) => {
    writeFileSync(files.compiled, bytes(keepCompiled()));
    await works();
    expect(load().script.cachedDataRejected).toBeUndefined();
  });

  test("never hands the data of another Node to V8", async () => {
    const data = keepCompiled().subarray(0, -4);
    writeFileSync(files.compiled, sealCompiled(data, "v20.19.0 linux x64"));
    expect(load().script.cachedDataRejected).toBeUndefined();
    await works();
  });

  test("compiles the source beside the data of another V8", async () => {
    const data = Buffer.from(keepCompiled().subarray(0, -4));
    // The hash of the version comes second in V8's header.
    data.writeUInt32LE(data.readUInt32LE(4) ^ 1, 4);
    writeFileSync(files.compiled, sealCompiled(data));
    rename();
    expect(load().script.cachedDataRejected).toBe(true);
    await works();
  });

  test("throws where there is no source", () => {
    keepCompiled();
    rmSync(files.source);
    expect(load).toThrow(expect.objectContaining({ code: "ENOENT" }));
  });

  test("writes nothing", () => {
    const sealed = keepCompiled();
    load();
    expect(readFileSync(files.compiled).equals(sealed)).toBe(true);
  });
});
