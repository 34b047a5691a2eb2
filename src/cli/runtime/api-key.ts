import type { ServiceConfig } from "../config.ts";
import { CliError } from "./cli-error.ts";
import { readGiven } from "./read-input-file.ts";

/** The key of the embedded sandbox: it guards nothing. */
export const sandboxKey = "sandbox-key";

/**
 * The API key: `DRAFTSYNC_API_KEY`, or the file that the config names. Never from YAML or the command line, where
 * others could read it. Throws {@link CliError} `api-key-missing` or `api-key-file`.
 */
export async function loadApiKey({ apiKeyFile }: ServiceConfig, env: NodeJS.ProcessEnv): Promise<string> {
  const key =
    env.DRAFTSYNC_API_KEY?.trim() || (apiKeyFile === undefined ? "" : await readKeyFile(apiKeyFile));
  if (key !== "") return key;
  throw new CliError(
    apiKeyFile === undefined
      ? "no API key: DRAFTSYNC_API_KEY is not set"
      : `no API key: ${apiKeyFile} is empty`,
    {
      code: "api-key-missing",
      hint: "Set DRAFTSYNC_API_KEY, or set service.api_key_file to a file that contains the key.",
    },
  );
}

async function readKeyFile(file: string): Promise<string> {
  const bytes = await readGiven(file, {
    what: "the API key file",
    code: "api-key-file",
    hint: "Check service.api_key_file, or set DRAFTSYNC_API_KEY instead.",
  });
  return bytes.toString("utf8").trim();
}
