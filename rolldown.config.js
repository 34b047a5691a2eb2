// Bundles the program into dist/, next to the declarations that tsc writes there. Part of `npm run build`.
import { cpSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig } from "rolldown";

/**
 * Installed next to the program: native code, threads, Node's sockets, the server of the sandbox. All else is bundled: what most
 * commands load starts faster, and of the AWS SDK a fortieth remains.
 */
const installed = /^(@hono\/node-server|hono|libsql|node:.+|pg|proxy-from-env|tinypool|undici)(\/|$)/;

const entries = ["index", "cli/main", "cli/demo", "sandbox/server"];

/** A bundle of its own: each thread compiles what it loads again. */
const worker = "manifest/parse-worker";

/** Adds the licenses of the bundled packages, which require a copy of themselves. */
const licenses = {
  name: "licenses",
  generateBundle(_options, bundle) {
    const modules = Object.values(bundle).flatMap((chunk) => Object.keys(chunk.modules ?? {}));
    const folders = new Set(
      modules.flatMap((path) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? []),
    );
    const namesByText = new Map();
    for (const folder of [...folders].sort()) {
      const { name, version, text } = licenseOf(folder);
      namesByText.set(text, [...(namesByText.get(text) ?? []), `${name} ${version}`]);
    }
    const source = [...namesByText]
      .map(([text, names]) => `${names.join("\n")}\n\n${text}\n`)
      .join(`\n${"-".repeat(80)}\n\n`);
    this.emitFile({ type: "asset", fileName: "THIRD-PARTY-LICENSES.txt", source });
  },
};

/** Some packages of a family have no license file of their own, only its name. */
function licenseOf(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  if (file === undefined && license === undefined) throw new Error(`${folder} names no license`);
  return {
    name,
    version,
    text: file === undefined ? license : readFileSync(join(folder, file), "utf8").trim(),
  };
}

/** The script and the style of the HTML pages are inlined as they are, so that their digests are known. */
const pageFiles = {
  name: "page-files",
  writeBundle() {
    for (const name of ["page.js", "page.css"]) cpSync(`src/page/${name}`, `dist/page/${name}`);
  },
};

/** What every command loads is one file: Node takes longer to find a hundred small modules than to compile them. */
let core;
function isCore(id, context) {
  core ??= importedFrom(join(import.meta.dirname, "src/cli/run.ts"), (module) =>
    context.getModuleInfo(module),
  );
  return core.has(id);
}

/** The module and all that it imports statically, directly or not. */
function importedFrom(id, getModuleInfo, found = new Set()) {
  if (found.has(id)) return found;
  found.add(id);
  for (const imported of getModuleInfo(id)?.importedIds ?? []) importedFrom(imported, getModuleInfo, found);
  return found;
}

const shared = {
  external: installed,
  platform: "node",
  logLevel: "warn",
  tsconfig: "src/tsconfig.json",
  // The same parser for any platform; the one for Node reads the environment at every token.
  resolve: { alias: { yaml: fileURLToPath(new URL("../browser/index.js", import.meta.resolve("yaml"))) } },
};

const output = {
  dir: "dist",
  format: "esm",
  entryFileNames: "[name].js",
  minify: { compress: true, mangle: { keepNames: { function: true, class: true } }, codegen: true },
};

export default defineConfig([
  {
    ...shared,
    input: inputOf(entries),
    // What only some commands need is imported lazily, even where another command has it loaded already.
    checks: { ineffectiveDynamicImport: false },
    plugins: [licenses, pageFiles],
    output: {
      ...output,
      // One folder below dist, like the folders of src: paths to the package's other files are the same.
      chunkFileNames: "chunks/[name].js",
      codeSplitting: {
        groups: [{ debugName: "core", name: (id, context) => (isCore(id, context) ? "core" : null) }],
      },
    },
  },
  { ...shared, input: inputOf([worker]), output },
]);

function inputOf(names) {
  return Object.fromEntries(names.map((name) => [name, `src/${name}.ts`]));
}
