import { stat } from "node:fs/promises";
import { migrations } from "../ledger/initial-schema.ts";
import type { LedgerReader } from "../ledger/ledger-reader.ts";
import { DraftsyncError } from "../model/errors.ts";
import { isLoopback } from "../service/connections.ts";
import type { CheckResult, Problem } from "./check.ts";
import { failed, failedBy, ok, warning } from "./check.ts";

/** The settings and the environment of this machine. */
export interface Machine {
  readonly env: NodeJS.ProcessEnv;
  /** Absent for the sandbox. */
  readonly baseUrl: string | undefined;
  readonly apiKeyFile: string | undefined;
  readonly caFile: string | undefined;
  /** Both reject with a {@link DraftsyncError}. */
  loadApiKey(): Promise<unknown>;
  loadAuthorities(file: string): Promise<unknown>;
}

/** Checks the version of Node.js. */
export function checkNode(version = process.versions.node): CheckResult {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const details = { version };
  return major > 20 || (major === 20 && minor >= 19)
    ? ok("node-supported", version, { details })
    : failed("node-too-old", version, { details });
}

/** Checks the API key. No result contains it. */
export async function checkApiKey({ env, baseUrl, apiKeyFile, loadApiKey }: Machine): Promise<CheckResult> {
  if (baseUrl === undefined) return ok("key-sandbox", "the sandbox's own");
  try {
    await loadApiKey();
  } catch (error) {
    return failedBy("key-unusable", problemOf(error));
  }
  const isInFile = (env.DRAFTSYNC_API_KEY ?? "").trim() === "";
  const from = isInFile ? (apiKeyFile ?? "") : "DRAFTSYNC_API_KEY";
  const details = { from };
  if (!isInFile || !(await isReadableByOthers(from))) return ok("key-found", `from ${from}`, { details });
  const hint = `Run \`chmod 600 ${from}\`.`;
  return warning("key-file-open", `from ${from}, which other users can read`, { hint, details });
}

/** Windows has no such permissions. */
async function isReadableByOthers(file: string): Promise<boolean> {
  return process.platform !== "win32" && ((await stat(file)).mode & 0o077) !== 0;
}

/** Checks the file of certificate authorities. */
export async function checkAuthorities({ env, caFile, loadAuthorities }: Machine): Promise<CheckResult> {
  try {
    if (caFile !== undefined) await loadAuthorities(caFile);
  } catch (error) {
    return failedBy("authorities-unusable", problemOf(error));
  }
  const file = [caFile, env.NODE_EXTRA_CA_CERTS].filter(Boolean).join(" and ");
  return file === ""
    ? ok("authorities-default", "the default ones")
    : ok("authorities-added", `the default ones and ${file}`, { details: { file } });
}

/** Names the proxy for the service, without its user and password. */
export async function checkProxy({ baseUrl }: Machine): Promise<CheckResult> {
  const { getProxyForUrl } = await import("proxy-from-env");
  const isRemote = baseUrl !== undefined && !isLoopback(new URL(baseUrl).hostname);
  const given = isRemote ? getProxyForUrl(baseUrl) : "";
  if (given === "") return ok("proxy-none", "none for this address");
  const url = URL.canParse(given) ? new URL(given) : undefined;
  const proxy = url === undefined ? "a value that is not a URL" : `${url.protocol}//${url.host}`;
  return ok("proxy-used", `${proxy}, through a tunnel`, { details: { proxy } });
}

/** Checks the ledger. `open` rejects if the ledger belongs to another service or workspace. */
export async function checkLedger(open: () => Promise<LedgerReader>): Promise<CheckResult> {
  try {
    const { location, isMissing } = await open();
    if (isMissing) {
      const message = `${location} does not exist yet; the first call creates it`;
      return ok("ledger-missing", message, { details: { location } });
    }
    const version = migrations.length;
    return ok("ledger-open", `${location}, schema version ${version}`, { details: { location, version } });
  } catch (error) {
    return failedBy("ledger-unusable", problemOf(error));
  }
}

/** The failure as a problem. Rethrows a defect. */
export function problemOf(error: unknown): Problem {
  if (!(error instanceof DraftsyncError)) throw error;
  const { code, message, hint } = error;
  return { code, message, hint };
}
