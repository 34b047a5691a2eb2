/** For what a pipeline can be written. */
export const pipelines = ["none", "github", "gitlab"] as const;

/** One of {@link pipelines}. */
export type Pipeline = (typeof pipelines)[number];

/** Where the pipeline stands in a repository. */
const places = { github: ".github/workflows/draftsync.yml", gitlab: ".gitlab-ci.yml" } as const;

/** The file of a pipeline: those of `examples/`, which come with the package, unchanged. */
export async function pipelineFile(system: Pipeline): Promise<Readonly<Record<string, string>>> {
  if (system === "none") return {};
  const { readFile } = await import("node:fs/promises");
  const place = places[system];
  const text = await readFile(new URL(`../../examples/${system}/${place}`, import.meta.url), "utf8");
  return { [place]: text };
}
