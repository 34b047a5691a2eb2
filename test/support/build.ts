import { execFileSync } from "node:child_process";
import { once } from "./once.ts";
import { repository } from "./source-files.ts";

/** Bundles the sources, so that the tests run the binary as it is now and not as it was. */
export function setup(): void {
  once("build", () => {
    execFileSync(process.execPath, [`${repository}src/bundle.js`], { cwd: repository, stdio: "inherit" });
  });
}
