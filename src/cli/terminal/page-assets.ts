import { readFile } from "node:fs/promises";
import type { PageAssets } from "../../report/html/document.ts";
import { pageFolder } from "../package-files.ts";

/** Reads the script and the style of the HTML pages, which the build puts beside the program. */
export async function loadPageAssets(): Promise<PageAssets> {
  const [script, style] = await Promise.all(["page.js", "page.css"].map(read));
  return { script: script ?? "", style: style ?? "" };
}

function read(name: string): Promise<string> {
  return readFile(new URL(name, pageFolder), "utf8");
}
