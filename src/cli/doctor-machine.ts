import { stat } from "node:fs/promises";
import { migrations } from "../ledger/initial-schema.ts";
import { DraftsyncError } from "../model/errors.ts";
import type { Check, Problem } from "../model/examination.ts";
import { makeCheck } from "../model/examination.ts";
import { formatLocation } from "../model/source-location.ts";
import { assertOwner } from "../plan/ownership.ts";
import { isLoopback } from "../service/connections.ts";
import type { Cli } from "./cli.ts";
import type { Config, ServiceConfig } from "./config.ts";
import { loadApiKey } from "./runtime/api-key.ts";
import { loadAuthorities } from "./runtime/authorities.ts";
import { DiagnosticsError } from "./runtime/cli-error.ts";
import type { Workspace } from "./runtime/workspace.ts";

/** What can be said of Node.js. */
export function checkNode(version = process.versions.node): Check {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const supported = major > 20 || (major === 20 && minor >= 19);
  return supported
    ? makeCheck("node", "ok", { code: "node-supported", facts: { version } })
    : makeCheck("node", "failed", { code: "node-too-old", facts: { version } });
}

/** What can be said of key, authorities and proxy before anything is sent. The key itself is in none of it. */
export async function checkEnvironment({ service }: Config, { env }: Cli): Promise<readonly Check[]> {
  return [await checkKey(service, env), await checkAuthorities(service, env), await checkProxy(service)];
}

async function checkKey(service: ServiceConfig, env: NodeJS.ProcessEnv): Promise<Check> {
  if (service.baseUrl === undefined) {
    return makeCheck("key", "ok", { code: "key-of-sandbox", facts: {} });
  }
  try {
    await loadApiKey(service, env);
  } catch (error) {
    return makeCheck("key", "failed", { code: "key-unusable", facts: { problem: problemOf(error) } });
  }
  const inEnvironment = (env.DRAFTSYNC_API_KEY ?? "").trim() !== "";
  const from = inEnvironment ? "DRAFTSYNC_API_KEY" : (service.apiKeyFile ?? "");
  return !inEnvironment && (await isOpenToOthers(from))
    ? makeCheck("key", "warning", { code: "key-file-open", facts: { from } })
    : makeCheck("key", "ok", { code: "key-found", facts: { from } });
}

/** Windows has other rights than these. */
async function isOpenToOthers(file: string): Promise<boolean> {
  return process.platform !== "win32" && ((await stat(file)).mode & 0o077) !== 0;
}

async function checkAuthorities({ caFile }: ServiceConfig, env: NodeJS.ProcessEnv): Promise<Check> {
  const file = [caFile, env.NODE_EXTRA_CA_CERTS].filter((each) => each).join(" and ");
  try {
    if (caFile !== undefined) await loadAuthorities(caFile);
  } catch (error) {
    const facts = { problem: problemOf(error) };
    return makeCheck("ca_file", "failed", { code: "authorities-unusable", facts });
  }
  return file === ""
    ? makeCheck("ca_file", "ok", { code: "authorities-usual", facts: {} })
    : makeCheck("ca_file", "ok", { code: "authorities-own", facts: { file } });
}

async function checkProxy({ baseUrl }: ServiceConfig): Promise<Check> {
  const { getProxyForUrl } = await import("proxy-from-env");
  const used = baseUrl !== undefined && !isLoopback(new URL(baseUrl).hostname);
  const proxy = used ? getProxyForUrl(baseUrl) : "";
  return proxy === ""
    ? makeCheck("proxy", "ok", { code: "proxy-none", facts: {} })
    : makeCheck("proxy", "ok", { code: "proxy-used", facts: { proxy: withoutSecrets(proxy) } });
}

function withoutSecrets(proxy: string): string {
  if (!URL.canParse(proxy)) return "what the environment names, which is not a URL";
  const { protocol, host } = new URL(proxy);
  return `${protocol}//${host}`;
}

/**
 * What can be said of the ledger. Opened to write it is made where there is none, as every command makes it that calls
 * the service: the bound on calls is kept in it.
 */
export async function checkLedger(workspace: Workspace, access: "read" | "write"): Promise<Check> {
  try {
    const ledger = access === "write" ? await workspace.ledger() : await workspace.reader();
    const { location } = ledger;
    const { service, workspace: name } = workspace.config;
    assertOwner(await ledger.owner(), { origin: service.origin, workspace: name });
    if (ledger.isMissing) return makeCheck("ledger", "ok", { code: "ledger-missing", facts: { location } });
    const version = migrations.length;
    return makeCheck("ledger", "ok", { code: "ledger-open", facts: { location, version } });
  } catch (error) {
    return makeCheck("ledger", "failed", { code: "ledger-unusable", facts: { problem: problemOf(error) } });
  }
}

/** A failure for a check. Rethrows what is a defect. */
export function problemOf(error: unknown): Problem {
  if (!(error instanceof DraftsyncError)) throw error;
  const { code, message, hint } = error;
  if (!(error instanceof DiagnosticsError)) return { code, message, hint };
  const [first] = error.diagnostics.filter(({ severity }) => severity === "error");
  const where = first?.place === undefined ? "" : `${formatLocation(first.place)}: `;
  return { code, message: `${message}: ${where}${first?.message ?? ""}`, hint: first?.hint };
}
