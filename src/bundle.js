// Part of `npm run build`: writes the program into dist/, beside the declarations that tsc has written there.
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { makeCore } from "./bundle-core.js";

const inSources = (path) => fileURLToPath(new URL(path, import.meta.url));
const dist = inSources("../dist");

/**
 * Dependencies that every command loads, and most of which consist of many small modules: to find and load those takes
 * Node longer than a whole plan. The others are loaded from where they were installed, and only by who needs them.
 */
const bundled = /^(commander|diff|kysely|p-limit|fast-string-(truncated-)?width|tinyglobby|yaml|zod)(\/|$)/;
/** The library leaves the driver to those who embed it. */
const bundledInProgram = new RegExp(`${bundled.source}|^libsql$`);
const isOurs = (importer) => importer === undefined || !importer.includes("/node_modules/");

/** The licenses of what is bundled ask for a copy of themselves beside it. */
const folders = new Set();
const licenses = {
  name: "licenses",
  generateBundle(_options, bundle) {
    const modules = Object.values(bundle).flatMap((chunk) => Object.keys(chunk.modules ?? {}));
    for (const path of modules) {
      const [folder] = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? [];
      if (folder !== undefined) folders.add(folder);
    }
  },
};

/** What bundled packages do at every start, and need not. */
const shortcuts = {
  name: "shortcuts",
  transform(code, id) {
    // Looks for a package that may be installed beside it; what it is for is not used.
    if (id.endsWith("/fdir/dist/index.mjs"))
      return replaced(code, /__require(\.resolve)?\("picomatch"\)/g, "undefined");
    // For commands that are programs of their own, of which there are none.
    if (id.endsWith("/commander/lib/command.js"))
      return replaced(
        code,
        /const childProcess = require\('node:child_process'\)[^;]*;/,
        "const childProcess = undefined;",
      );
    if (!id.endsWith("/libsql/index.js")) return null;
    const loader = `const { loadBinding: requireNative } = require(${JSON.stringify(inSources("ledger/sqlite/load-binding.ts"))});\n`;
    return replaced(code, /const \{ load, currentTarget \}[\s\S]*?\n\}\n/, loader);
  },
};

function replaced(code, found, by) {
  const changed = code.replace(found, by);
  if (changed === code) throw new Error(`there is no ${found} any more`);
  return changed;
}

function licenseOf(folder) {
  const { name, version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  if (file === undefined) throw new Error(`${folder} has no license file`);
  return `${name} ${version}\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
}

const written = {
  // What Node need not parse is a tenth of the start of every command. Names stay: they stand in the traces of defects.
  minify: { compress: true, mangle: false, codegen: true },
  comments: { legal: true, annotation: false, jsdoc: false },
};

/** Chunks lie as deep as the entries, so that paths from a module to package.json hold in a chunk, too. */
async function bundle({ entries, chunks, inner = bundled, groups = [], format = "esm" }) {
  const made = await rolldown({
    input: Object.fromEntries(entries.map((entry) => [entry, inSources(`${entry}.ts`)])),
    external: (id, importer) => isOurs(importer) && !/^[./]/.test(id) && !inner.test(id),
    platform: "node",
    // The same code as modules, of which only a part is needed; Node's own asks the environment at every token.
    resolve: { alias: { yaml: fileURLToPath(new URL("../browser/index.js", import.meta.resolve("yaml"))) } },
    tsconfig: inSources("tsconfig.json"),
    logLevel: "warn",
    // A command names what it needs by `import()`, also where another one has it loaded already.
    checks: { ineffectiveDynamicImport: false },
    plugins: [licenses, shortcuts],
  });
  const extension = format === "cjs" ? "cjs" : "js";
  const chunkFileNames = `${chunks}/[name].${extension}`;
  // Beside the program's own script, which is CommonJS, a module has to say what it is.
  const entryFileNames = ({ name }) => (name === "cli/demo" ? "[name].mjs" : `[name].${extension}`);
  const names = { chunkFileNames, entryFileNames };
  const { output } = await made.write({ dir: dist, format, ...names, codeSplitting: { groups }, ...written });
  return output;
}

/** What a plan of the ledger alone runs through: these, and what they import. One chunk is found and read faster than fifty. */
const core = new Set(
  [
    "cli/completion/complete",
    "cli/run",
    "cli/runtime/workspace",
    "cli/runtime/planning",
    "plan/safety",
    "report/plan-text",
    "report/plan-view",
    "report/progress",
    "ledger/open-ledger",
    "ledger/sqlite/sqlite-database",
  ].map((name) => inSources(`${name}.ts`)),
);

for (const folder of ["chunks", "library", "threads"])
  rmSync(join(dist, folder), { recursive: true, force: true });
await bundle({ entries: ["index", "sandbox/server"], chunks: "library" });
// By themselves, and CommonJS: a thread that loaded the core would start in twice the time.
await bundle({
  entries: ["manifest/parse-worker"],
  chunks: "threads",
  inner: bundledInProgram,
  format: "cjs",
});
const output = await bundle({
  entries: ["cli/main", "cli/demo"],
  chunks: "chunks",
  inner: bundledInProgram,
  groups: [{ name: "core", test: (id) => core.has(id) }],
});
await makeCore({ folder: dist, output, written });

const texts = [...folders].sort().map(licenseOf);
writeFileSync(join(dist, "THIRD-PARTY-LICENSES.txt"), texts.join(`\n${"-".repeat(80)}\n\n`));

// The script and the style of the HTML pages: they are put into a page as they are, so that their digests are known.
for (const name of ["page.js", "page.css"])
  cpSync(inSources(`page/${name}`), inSources(`../dist/page/${name}`));
