// The peer: as many `terraform_data` resources, without any network.
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";

/** Milliseconds of `terraform plan`; `undefined` when there is no terraform. */
export async function terraformPlan(folder, count) {
  if (spawnSync("terraform", ["version"]).status !== 0) return undefined;
  mkdirSync(folder, { recursive: true });
  const resources = Array.from({ length: count }, (_none, at) => {
    return `resource "terraform_data" "file_${at}" {\n  input = { file_id = ${at}, file_format = "fbx", renderer = "arnold" }\n}\n`;
  });
  writeFileSync(join(folder, "main.tf"), resources.join("\n"));
  const run = (...args) => {
    const { status, stderr } = spawnSync("terraform", args, {
      cwd: folder,
      encoding: "utf8",
      maxBuffer: 1e9,
    });
    if (status !== 0) throw new Error(`terraform ${args.join(" ")} ended ${status}: ${stderr.slice(-2000)}`);
  };
  run("init", "-input=false");
  const begun = performance.now();
  run("plan", "-input=false");
  return performance.now() - begun;
}
