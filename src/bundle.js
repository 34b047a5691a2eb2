// Part of `npm run build`: writes the program into dist/, beside the declarations that tsc has written there.
import { cpSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

const inSources = (path) => fileURLToPath(new URL(path, import.meta.url));

/**
 * Dependencies that every command loads, and most of which consist of many small modules: to find and load those takes
 * Node longer than a whole plan. The others are loaded from where they were installed, and only by who needs them.
 */
const bundled = /^(commander|diff|kysely|p-limit|fast-string-(truncated-)?width|tinyglobby|yaml|zod)(\/|$)/;
const isOurs = (importer) => importer === undefined || !importer.includes("/node_modules/");

/** The licenses of what is bundled ask for a copy of themselves beside it. */
const licenses = {
  name: "licenses",
  generateBundle(_options, bundle) {
    const modules = Object.values(bundle).flatMap((chunk) => Object.keys(chunk.modules ?? {}));
    const folders = modules.flatMap((path) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? []);
    const texts = [...new Set(folders)].sort().map((folder) => {
      const { name, version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
      const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
      if (file === undefined) throw new Error(`${folder} has no license file`);
      return `${name} ${version}\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
    });
    const source = texts.join(`\n${"-".repeat(80)}\n\n`);
    this.emitFile({ type: "asset", fileName: "THIRD-PARTY-LICENSES.txt", source });
  },
};

const bundle = await rolldown({
  input: {
    "cli/main": inSources("cli/main.ts"),
    "cli/demo": inSources("cli/demo.ts"),
    "manifest/page-worker": inSources("manifest/page-worker.ts"),
    "state/sqlite/commit-worker": inSources("state/sqlite/commit-worker.ts"),
    "sandbox/server": inSources("sandbox/server.ts"),
    index: inSources("index.ts"),
  },
  external: (id, importer) => isOurs(importer) && !/^[./]/.test(id) && !bundled.test(id),
  platform: "node",
  // The same code as modules, of which only a part is needed; Node's own asks the environment at every token.
  resolve: { alias: { yaml: fileURLToPath(new URL("../browser/index.js", import.meta.resolve("yaml"))) } },
  tsconfig: inSources("tsconfig.json"),
  logLevel: "warn",
  plugins: [licenses],
});
await bundle.write({
  dir: inSources("../dist"),
  // As deep as the entries, so that paths from a module to package.json hold in a chunk, too.
  chunkFileNames: "chunks/[name].js",
  // What Node need not parse is a tenth of the start of every command. Names stay: they stand in the traces of defects.
  minify: { compress: true, mangle: false, codegen: true },
  comments: { legal: true, annotation: false, jsdoc: false },
});

// The script and the style of the HTML pages: they are put into a page as they are, so that their digests are known.
for (const name of ["page.js", "page.css"])
  cpSync(inSources(`page/${name}`), inSources(`../dist/page/${name}`));
