import { z } from "zod";

/** Splits the location into a URL without password and a password, because GitLab can mask only the latter. */
export function ledgerVariables(location: string): Record<string, string> {
  const url = new URL(location);
  const { password } = url;
  url.password = "";
  return { DRAFTSYNC_STATE: url.href, DRAFTSYNC_STATE_PASSWORD: password };
}

const shellLines = z
  .array(z.string())
  .default([])
  .transform((lines) => lines.join("\n"));
/** The part of a job that a runner needs. */
export const jobSchema = z.object({
  before_script: shellLines,
  script: shellLines,
  environment: z.object({ name: z.string() }).optional(),
});
/** An expanded pipeline. */
export const previewSchema = z.looseObject({
  variables: z.record(z.string(), z.string()),
});

/** Predefined variables by what starts a pipeline. */
export const events = {
  request: {
    CI_PIPELINE_SOURCE: "merge_request_event",
    CI_MERGE_REQUEST_IID: "12",
    CI_MERGE_REQUEST_PROJECT_PATH: "lantern-hill/drafts",
    CI_MERGE_REQUEST_SOURCE_PROJECT_PATH: "lantern-hill/drafts",
  },
  merge: { CI_PIPELINE_SOURCE: "push", CI_COMMIT_BRANCH: "main" },
  schedule: { CI_PIPELINE_SOURCE: "schedule", CI_COMMIT_BRANCH: "main" },
  web: { CI_PIPELINE_SOURCE: "web", CI_COMMIT_BRANCH: "main" },
};
