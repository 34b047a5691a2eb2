import { join } from "node:path";
import { packageFolder } from "../package-files.ts";

/** The systems a pipeline can be written for. */
export const pipelines = ["none", "github", "gitlab"] as const;

/** One of {@link pipelines}. */
export type Pipeline = (typeof pipelines)[number];

/** The path of the pipeline in a repository. */
const paths = { github: ".github/workflows/draftsync.yml", gitlab: ".gitlab-ci.yml" } as const;

/** The file of a pipeline: those of `examples/`, which come with the package, for the main branch of the repository in `root`. */
export async function pipelineFile(
  system: Pipeline,
  root: string,
): Promise<Readonly<Record<string, string>>> {
  if (system === "none") return {};
  const { readFile } = await import("node:fs/promises");
  const path = paths[system];
  const text = await readFile(new URL(`examples/${system}/${path}`, packageFolder), "utf8");
  const head = await readFile(join(root, ".git/HEAD"), "utf8").catch(() => "");
  // Any other branch is more likely one for this change than the one that is applied.
  if (head.trim() !== "ref: refs/heads/master") return { [path]: text };
  return { [path]: text.replaceAll("refs/heads/main", "refs/heads/master").replace("[main]", "[master]") };
}
