// Part of `npm run build`: makes of the chunk that every plan needs a script that V8 need not compile at every start.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { rolldown } from "rolldown";
import { parseSync } from "rolldown/utils";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const isRuntime = (id) => id.includes("rolldown-runtime");

/**
 * Makes of the chunk `core.js`, which was written to `folder` with the rest of `output`:
 *
 * ```
 *   core.js ──┬──> core.cjs        the same as a script
 *             ├──> core-….v8       what V8 makes of it in a plan
 *             ├──> load-core.cjs   runs it (cli/load-script.ts)
 *             └──> core.js         exports what it exports, for the other chunks
 *
 *   cli/main.js ──> cli/main.js    as CommonJS: Node takes a third longer to start with a module
 * ```
 */
export async function makeCore({ folder, output, written }) {
  const chunk = output.find(({ name }) => name === "core");
  const path = join(folder, chunk.fileName);
  const foreign = chunk.imports.filter((id) => !isBuiltin(id) && !isRuntime(id));
  if (foreign.length > 0) throw new Error(`every plan would load ${foreign.join(", ")}`);

  const facades = facadesOf(output);
  const module = await asCommonJs({ input: path, written });
  const body = withImports(module, {
    held: (specifier) => facades.get(basename(specifier))?.("exports"),
    other: (request) => `importModule(${request})`,
  });
  const script = asciiOf(`(function (exports, require, __filename, importModule) {${body}\n})`);
  // V8 compares no more than the length of the source: the name says which one it was made of.
  const compiled = `core-${createHash("sha256").update(script).digest("hex").slice(0, 16)}.v8`;
  writeFileSync(join(dirname(path), "core.cjs"), script);
  writeFileSync(join(dirname(path), loaderName), await bundleLoader({ compiled, written }));
  writeFileSync(path, facadeOf(chunk.exports));
  await makeMain({ path: join(folder, "cli/main.js"), facades, written });
  writeFileSync(join(dirname(path), compiled), compiledByPlan(folder));
}

const loaderName = "load-core.cjs";

async function makeMain({ path, facades, written }) {
  const module = await asCommonJs({ input: path, written });
  const core = `require("../chunks/${loaderName}").exports`;
  const held = (specifier) => facades.get(basename(specifier))?.(core);
  writeFileSync(path, withImports(module, { held, other: (request) => `import(${request})` }));
  writeFileSync(join(dirname(path), "package.json"), '{ "type": "commonjs" }\n');
}

/** One module that has been written already, without what it imports. */
function asCommonJs({ input, written }) {
  const external = (id, importer) => importer !== undefined && !isRuntime(id);
  return bundleOne({ input, external, written: { ...written, format: "cjs" } });
}

async function bundleOne({ input, external, plugins = [], written }) {
  const bundle = await rolldown({ input, external, plugins, platform: "node", treeshake: false });
  const { output } = await bundle.generate({ ...written, codeSplitting: false });
  return output[0].code;
}

/** Text of which V8 holds a byte for each character, not two. Only literals and comments have any other character. */
function asciiOf(code) {
  const escaped = (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return code.replace(/[^\0-\x7f]/g, escaped);
}

/** Chunks that hold nothing but names for a part of the core, each as what makes the text of its namespace of that of the core's exports. */
function facadesOf(output) {
  const facades = new Map();
  for (const { type, fileName, code } of output) {
    if (type !== "chunk") continue;
    const { program, module } = parseSync(fileName, code);
    if (
      !program.body.every(
        ({ type, source }) => type === "ExportNamedDeclaration" && source?.value === "./core.js",
      )
    )
      continue;
    const names = module.staticExports.flatMap(({ entries }) => entries);
    const member = ({ exportName, importName }) => `${exportName.name}:core.${importName.name}`;
    const text = names.map(member).join(",");
    facades.set(basename(fileName), (core) => `(core=>({${text}}))(${core})`);
  }
  return facades;
}

/** The code with `import()` of what the core holds as that (`held`), and every other one as `other` has it. */
function withImports(code, { held, other }) {
  let text = "";
  let end = 0;
  for (const { start, end: after, moduleRequest } of parseSync("core.cjs", code).module.dynamicImports) {
    const request = code.slice(moduleRequest.start, moduleRequest.end);
    const namespace = held(request.slice(1, -1));
    const call = namespace === undefined ? other(request) : `Promise.resolve().then(()=>${namespace})`;
    text += code.slice(end, start) + call;
    end = after;
  }
  return text + code.slice(end);
}

function bundleLoader({ compiled, written }) {
  const code = `
    import { loadScript, sealCompiled } from ${JSON.stringify(here("cli/load-script.ts"))};
    const files = { source: new URL("core.cjs", import.meta.url), compiled: new URL("${compiled}", import.meta.url) };
    export const { exports, script } = loadScript(files, (specifier) => import(specifier));
    export { sealCompiled };`;
  const virtual = {
    name: "loader",
    resolveId: (id) => (id === "loader" ? id : null),
    load: (id) => (id === "loader" ? code : null),
  };
  return bundleOne({
    input: "loader",
    external: isBuiltin,
    plugins: [virtual],
    written: { ...written, format: "cjs" },
  });
}

function facadeOf(names) {
  const taken = names.map((name) => `${name}:_${name}`).join(",");
  const given = names.map((name) => `_${name} as ${name}`).join(",");
  return `import core from "./${loaderName}";const{${taken}}=core.exports;export{${given}};\n`;
}

/** What V8 holds of the script after a plan of the sample workspace, made in a process of its own. */
function compiledByPlan(folder) {
  const root = mkdtempSync(join(tmpdir(), "draftsync-build-"));
  try {
    cpSync(here("../manifests"), root, { recursive: true, filter: (path) => !path.endsWith(".draftsync") });
    const file = join(root, "compiled");
    const files = [`chunks/${loaderName}`, "cli/main.js", "index.js"];
    const urls = files.map((name) => pathToFileURL(join(folder, name)).href);
    const env = { PATH: process.env.PATH, HOME: root };
    execFileSync(process.execPath, [here("compile-core.js"), file, ...urls], {
      cwd: root,
      env,
      stdio: ["ignore", "ignore", "inherit"],
    });
    return readFileSync(file);
  } finally {
    rmSync(root, { recursive: true });
  }
}
