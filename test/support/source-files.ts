import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The repository's folder, with a slash at the end. */
export const repository = fileURLToPath(new URL("../../", import.meta.url));

/** A text file of the repository. `path` is relative to it, with forward slashes. */
export interface TextFile {
  readonly path: string;
  readonly text: string;
}

/** Every file below a folder of the repository with this ending, sorted by path. */
export function filesBelow(folder: string, ending: string): TextFile[] {
  return readdirSync(`${repository}${folder}`, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
    .map((entry) => `${entry.parentPath}/${entry.name}`.slice(repository.length))
    .filter((path) => !path.includes("node_modules"))
    .sort()
    .map((path) => ({ path, text: readFileSync(`${repository}${path}`, "utf8") }));
}

/** A text file of the repository. */
export function readText(path: string): string {
  return readFileSync(`${repository}${path}`, "utf8");
}
