import { relative, resolve, sep } from "node:path";
import type { Cli } from "../cli.ts";
import type { Config } from "../config.ts";

/** A path that the user gave, relative to the workspace, as manifests are named; begins with `../` outside of it. */
export function pathInWorkspace(
  { cwd }: Pick<Cli, "cwd">,
  { root }: Pick<Config, "root">,
  path: string,
): string {
  return relative(root, resolve(cwd, path)).replaceAll(sep, "/");
}
