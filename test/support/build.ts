import { execFileSync } from "node:child_process";
import { repository } from "./source-files.ts";

/** Compiles the sources, so that the tests run the binary as it is now and not as it was. */
export function setup(): void {
  execFileSync(process.execPath, [`${repository}node_modules/typescript/bin/tsc`, "-p", "src"], {
    cwd: repository,
    stdio: "inherit",
  });
}
