/** The package's own folder: modules of `src/cli` and chunks of `dist` are both two folders below it. */
export const packageFolder = new URL("../../", import.meta.url);

/** The folder of the script and the style of HTML pages, in the sources and in the build. */
export const pageFolder = new URL("../page/", import.meta.url);
