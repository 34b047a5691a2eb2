import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { rolldown } from "rolldown";
import { repository } from "./source-files.ts";

type Parser = Pick<
  typeof import("@actions/workflow-parser"),
  "convertWorkflowTemplate" | "NoOperationTraceWriter" | "parseWorkflow"
>;

/** GitHub's parser of workflows. It imports JSON in a way that needs a bundler, so it is bundled first. */
export async function loadWorkflowParser(): Promise<Parser> {
  const folder = await mkdtemp(join(tmpdir(), "draftsync-parser-"));
  try {
    const file = join(folder, "parser.mjs");
    const bundle = await rolldown({
      cwd: repository,
      input: "@actions/workflow-parser",
      platform: "node",
      logLevel: "silent",
    });
    await bundle.write({ file });
    await bundle.close();
    const parser: Parser = await import(pathToFileURL(file).href);
    return parser;
  } finally {
    await rm(folder, { recursive: true });
  }
}
