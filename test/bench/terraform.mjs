// The peer: as many `terraform_data` resources, without any network.
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";

/** What Terraform's users write for many things of a kind: the data in a map, and one resource for each of its entries. */
const resource = `resource "terraform_data" "file" {
  for_each = local.files
  input    = each.value
}
`;

/** Milliseconds of `terraform plan`; `undefined` when there is no terraform. */
export async function terraformPlan(folder, count) {
  if (spawnSync("terraform", ["version"]).status !== 0) return undefined;
  mkdirSync(folder, { recursive: true });
  const files = Array.from({ length: count }, (_none, at) => {
    return `    "${at}" = { file_id = ${at}, file_format = "fbx", renderer = "arnold" }\n`;
  });
  writeFileSync(join(folder, "main.tf"), `locals {\n  files = {\n${files.join("")}  }\n}\n${resource}`);
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
