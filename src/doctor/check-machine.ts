import { stat } from "node:fs/promises";
import { migrations } from "../ledger/initial-schema.ts";
import type { LedgerReader } from "../ledger/ledger-reader.ts";
import { DraftsyncError } from "../model/errors.ts";
import { isLoopback } from "../service/connections.ts";
import type { CheckResult, Problem } from "./check.ts";
import { fromProblem } from "./check.ts";

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
    ? { status: "ok", code: "node-supported", message: version, details }
    : { status: "failed", code: "node-too-old", message: version, details };
}

/** Checks the API key. No result contains it. */
export async function checkApiKey({ env, baseUrl, apiKeyFile, loadApiKey }: Machine): Promise<CheckResult> {
  if (baseUrl === undefined) return { status: "ok", code: "key-sandbox", message: "the sandbox's own" };
  try {
    await loadApiKey();
  } catch (error) {
    return { status: "failed", code: "key-unusable", ...fromProblem(problemOf(error)) };
  }
  const isInFile = (env.DRAFTSYNC_API_KEY ?? "").trim() === "";
  const from = isInFile ? (apiKeyFile ?? "") : "DRAFTSYNC_API_KEY";
  const details = { from };
  if (!isInFile || !(await isReadableByOthers(from))) {
    return { status: "ok", code: "key-found", message: `from ${from}`, details };
  }
  const message = `from ${from}, which other users can read`;
  return { status: "warning", code: "key-file-open", message, hint: `Run \`chmod 600 ${from}\`.`, details };
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
    return { status: "failed", code: "authorities-unusable", ...fromProblem(problemOf(error)) };
  }
  const file = [caFile, env.NODE_EXTRA_CA_CERTS].filter(Boolean).join(" and ");
  return file === ""
    ? { status: "ok", code: "authorities-default", message: "the default ones" }
    : { status: "ok", code: "authorities-added", message: `the default ones and ${file}`, details: { file } };
}

/** Names the proxy for the service, without its user and password. */
export async function checkProxy({ baseUrl }: Machine): Promise<CheckResult> {
  const { getProxyForUrl } = await import("proxy-from-env");
  const isRemote = baseUrl !== undefined && !isLoopback(new URL(baseUrl).hostname);
  const given = isRemote ? getProxyForUrl(baseUrl) : "";
  if (given === "") return { status: "ok", code: "proxy-none", message: "none for this address" };
  const url = URL.canParse(given) ? new URL(given) : undefined;
  const proxy = url === undefined ? "a value that is not a URL" : `${url.protocol}//${url.host}`;
  return { status: "ok", code: "proxy-used", message: `${proxy}, through a tunnel`, details: { proxy } };
}

/** Checks the ledger. `open` rejects if the ledger belongs to another service or workspace. */
export async function checkLedger(open: () => Promise<LedgerReader>): Promise<CheckResult> {
  try {
    const { location, isMissing } = await open();
    if (isMissing) {
      const message = `${location} does not exist yet; the first call creates it`;
      return { status: "ok", code: "ledger-missing", message, details: { location } };
    }
    const version = migrations.length;
    const message = `${location}, schema version ${version}`;
    return { status: "ok", code: "ledger-open", message, details: { location, version } };
  } catch (error) {
    return { status: "failed", code: "ledger-unusable", ...fromProblem(problemOf(error)) };
  }
}

/** The failure as a problem. Rethrows a defect. */
export function problemOf(error: unknown): Problem {
  if (!(error instanceof DraftsyncError)) throw error;
  const { code, message, hint } = error;
  return { code, message, hint };
}
