// Part of `npm run build`: makes of the chunk that every plan needs a script that V8 need not compile at every start.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { rolldown } from "rolldown";
import { parseSync } from "rolldown/utils";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const isRuntime = (id) => id.includes("rolldown-runtime");

/**
 * Makes of the chunk `core.js`, which was written to `folder` with the rest of `output`:
 *
 * ```
 *   core.js ──┬──> core.cjs      the same as a script
 *             ├──> core-….v8     what V8 makes of it in a plan
 *             └──> core.js       a module that runs it (cli/load-script.ts), and exports what it exports
 * ```
 */
export async function makeCore({ folder, output, written }) {
  const chunk = output.find(({ name }) => name === "core");
  const path = join(folder, chunk.fileName);
  const foreign = chunk.imports.filter((id) => !isBuiltin(id) && !isRuntime(id));
  if (foreign.length > 0) throw new Error(`every plan would load ${foreign.join(", ")}`);

  const module = await bundleOne({
    input: path,
    external: (id, importer) => importer !== undefined && !isRuntime(id),
    written: { ...written, format: "cjs" },
  });
  const script = asciiOf(
    `(function (exports, require, __filename, importModule) {${withImports(module, facadesOf(output))}\n})`,
  );
  // V8 compares no more than the length of the source: the name says which one it was made of.
  const compiled = `core-${createHash("sha256").update(script).digest("hex").slice(0, 16)}.v8`;
  writeFileSync(join(dirname(path), "core.cjs"), script);
  writeFileSync(path, await bundleFacade(chunk.exports, { compiled, written }));
  writeFileSync(join(dirname(path), compiled), compiledByPlan({ core: path, folder }));
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

/** Chunks that hold nothing but names for a part of the core, each as the text of its namespace in the script. */
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
    const members = names.map(
      ({ exportName, importName }) => `${exportName.name}:exports.${importName.name}`,
    );
    facades.set(`./${fileName.replace(/^.*\//, "")}`, `{${members.join(",")}}`);
  }
  return facades;
}

/** The script with `import()` of what it holds itself as that, and every other one as `importModule()`. */
function withImports(code, facades) {
  let text = "";
  let end = 0;
  for (const { start, end: after, moduleRequest } of parseSync("core.cjs", code).module.dynamicImports) {
    const request = code.slice(moduleRequest.start, moduleRequest.end);
    const facade = facades.get(request.slice(1, -1));
    const call = facade === undefined ? `importModule(${request})` : `Promise.resolve(${facade})`;
    text += code.slice(end, start) + call;
    end = after;
  }
  return text + code.slice(end);
}

function bundleFacade(exports, { compiled, written }) {
  const code = `
    import { loadScript, sealCompiled } from ${JSON.stringify(here("cli/load-script.ts"))};
    const files = { source: new URL("core.cjs", import.meta.url), compiled: new URL("${compiled}", import.meta.url) };
    const { exports, script } = loadScript(files, (specifier) => import(specifier));
    const { ${exports.map((name) => `${name}: _${name}`).join(", ")} } = exports;
    export { script, sealCompiled, ${exports.map((name) => `_${name} as ${name}`).join(", ")} };`;
  const virtual = {
    name: "facade",
    resolveId: (id) => (id === "core" ? id : null),
    load: (id) => (id === "core" ? code : null),
  };
  return bundleOne({ input: "core", external: isBuiltin, plugins: [virtual], written });
}

/** What V8 holds of the script after a plan of the sample workspace, made in a process of its own. */
function compiledByPlan({ core, folder }) {
  const root = mkdtempSync(join(tmpdir(), "draftsync-build-"));
  try {
    cpSync(here("../manifests"), root, { recursive: true, filter: (path) => !path.endsWith(".draftsync") });
    const file = join(root, "compiled");
    const urls = [core, join(folder, "cli/main.js"), join(folder, "index.js")].map(
      (path) => pathToFileURL(path).href,
    );
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
