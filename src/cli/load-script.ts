import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { Script } from "node:vm";
import { crc32 } from "node:zlib";

/** What {@link loadScript} loads. */
export interface ScriptFiles {
  /** A function of `exports`, `require` for modules of Node, `__filename` and `importModule`, as an expression. */
  readonly source: URL;
  /** What V8 made of the source when that was built, sealed. It may be missing, damaged, or another V8's. */
  readonly compiled: URL;
}

/** A script that has run. */
export interface LoadedScript {
  readonly exports: Readonly<Record<string, unknown>>;
  /** For the build, which keeps what V8 made of it. */
  readonly script: Script;
}

/**
 * Runs a script of the build. What V8 made of it then is taken instead of compiling it at every start. The seal rejects data
 * of another Node and damaged data, V8 rejects data for other flags or a source of another length; then the source is
 * compiled. Both files are the program's own, in one folder: who could write to the one could write to the other, and
 * no start writes anything.
 *
 * `import()` of a script that was not compiled in this process fails, hence `importModule`, which the build has the script
 * call in its place. Throws what the script throws, and the system's error where there is no source.
 */
export function loadScript(
  { source, compiled }: ScriptFiles,
  importModule: (specifier: string) => Promise<unknown>,
): LoadedScript {
  const filename = fileURLToPath(source);
  const cachedData = readSealed(compiled);
  const script = new Script(readFileSync(source, "utf8"), {
    // Compiled data keeps the name that the script had when it was built: one that holds wherever it is installed.
    filename: basename(filename),
    ...(cachedData === undefined ? {} : { cachedData }),
  });
  const exports = {};
  script.runInThisContext()(exports, createRequire(filename), filename, importModule);
  return { exports, script };
}

const sealLength = 4;

/** V8's own check ignores Node's patches of V8, and data from Node 20.20 crashes Node 20.19: only the same Node may use it. */
const thisNode = `${process.version} ${process.platform} ${process.arch}`;

/**
 * The content of a `compiled` file: the data, then the CRC-32 of the data and of the Node that made it. V8 trusts its data:
 * a byte that differs ends the process.
 */
export function sealCompiled(data: Uint8Array, node = thisNode): Uint8Array {
  const seal = Buffer.alloc(sealLength);
  seal.writeUInt32BE(crc32(node, crc32(data)));
  return Buffer.concat([data, seal]);
}

/** `undefined` also where Node has no `crc32` (22.0, 22.1). */
function readSealed(file: URL): Buffer | undefined {
  try {
    const bytes = readFileSync(file);
    const data = bytes.subarray(0, -sealLength);
    return bytes.readUInt32BE(data.length) === crc32(thisNode, crc32(data)) ? data : undefined;
  } catch {
    return undefined;
  }
}
