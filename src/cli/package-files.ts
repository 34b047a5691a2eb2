/** The package's own folder: modules of `src/cli` and chunks of `dist` are both two folders below it. */
export const packageFolder = new URL("../../", import.meta.url);

/** The folder of the script and the style of HTML pages, in the sources and in the build. */
export const pageFolder = new URL("../page/", import.meta.url);

/** The program's main file, for processes of its own; in the sources, the one that was built. */
export const mainFile = new URL("dist/cli/main.js", packageFolder);
