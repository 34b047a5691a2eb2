import { readFile } from "node:fs/promises";
import { messageOf } from "../model/errors.ts";
import { FleetError } from "./fleet-error.ts";
import type { FleetSettings } from "./fleet-settings.ts";

/** What a run needs of its worker's environment: where programs, files, proxies and certificates are. */
const passed =
  /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LC_\w+|TZ|TMPDIR|TEMP|TMP|SYSTEMROOT|XDG_CACHE_HOME|NODE_EXTRA_CA_CERTS|SSL_CERT_(FILE|DIR)|(HTTPS?|NO|ALL)_PROXY|DRAFTSYNC_RECOVERY|PG\w+)$/i;

/**
 * The environment of a run: nothing that is meant for another workspace, and of the API keys its own alone. With a key of the
 * fleet, its calls are counted together with those of every workspace that has the same key. Throws {@link FleetError}.
 */
export async function environmentOf(
  keyName: string | null,
  { settings, env }: { settings: FleetSettings; env: NodeJS.ProcessEnv },
): Promise<NodeJS.ProcessEnv> {
  const own = Object.fromEntries(Object.entries(env).filter(([name]) => passed.test(name)));
  if (keyName === null) return own;
  const key = settings.keys.get(keyName);
  if (key === undefined) {
    throw new FleetError(`fleet.yaml of this worker has no key ${keyName}`, {
      code: "unknown-key-name",
      hint: `Add ${keyName} to \`keys\`, or run \`draftsync fleet apply\` if it was removed.`,
    });
  }
  const { file, rate } = key;
  const text = await readFile(file, "utf8").catch((error: unknown) => {
    throw new FleetError(`the API key file ${file} cannot be read: ${messageOf(error)}`, {
      code: "api-key-file",
      hint: `Check keys.${keyName}.api_key_file in fleet.yaml.`,
    });
  });
  if (text.trim() === "") {
    throw new FleetError(`no API key: ${file} is empty`, {
      code: "api-key-missing",
      hint: `Write the key into the file of keys.${keyName}.`,
    });
  }
  return {
    ...own,
    DRAFTSYNC_API_KEY: text.trim(),
    DRAFTSYNC_RATE_SHARED: settings.rates,
    ...(rate === undefined ? {} : { DRAFTSYNC_RATE: `${rate.limit}/${rate.windowMs}ms` }),
  };
}
