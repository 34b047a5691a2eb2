import { execFileSync } from "node:child_process";
import { once } from "./once.ts";
import { repository } from "./source-files.ts";

/** Bundles the sources, so that the tests run the current binary. */
export function setup(): void {
  once("build", () => {
    execFileSync(`${repository}node_modules/.bin/rolldown`, ["--config"], {
      cwd: repository,
      stdio: ["ignore", "ignore", "inherit"],
    });
  });
}
