import { packageFolder } from "../package-files.ts";

/** The systems a pipeline can be written for. */
export const pipelines = ["none", "github", "gitlab"] as const;

/** One of {@link pipelines}. */
export type Pipeline = (typeof pipelines)[number];

/** The path of the pipeline in a repository. */
const paths = { github: ".github/workflows/draftsync.yml", gitlab: ".gitlab-ci.yml" } as const;

/** The file of a pipeline: those of `examples/`, which come with the package, unchanged. */
export async function pipelineFile(system: Pipeline): Promise<Readonly<Record<string, string>>> {
  if (system === "none") return {};
  const { readFile } = await import("node:fs/promises");
  const path = paths[system];
  const text = await readFile(new URL(`examples/${system}/${path}`, packageFolder), "utf8");
  return { [path]: text };
}
