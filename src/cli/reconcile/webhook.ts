import { systemCodeOf } from "../../model/errors.ts";
import { isLoopback, loadDispatcher } from "../../service/connections.ts";
import type { Config, NotifyConfig } from "../config.ts";
import { loadAuthorities } from "../runtime/authorities.ts";
import { CliError } from "../runtime/cli-error.ts";
import { readGiven } from "../runtime/read-input-file.ts";

/** Of the whole exchange, milliseconds. */
const timeoutMs = 10_000;

/**
 * The webhook: `DRAFTSYNC_NOTIFY_URL`, or the config's; `undefined` when there is none. Its address is a secret, so no message
 * contains it. Throws {@link CliError} `notify-url-invalid` or `notify-url-file`.
 */
export async function loadWebhook({ notify }: Config, env: NodeJS.ProcessEnv): Promise<URL | undefined> {
  return loadWebhookOf(notify, env);
}

/** {@link loadWebhook} of the settings alone. */
export async function loadWebhookOf(notify: NotifyConfig, env: NodeJS.ProcessEnv): Promise<URL | undefined> {
  const text = env.DRAFTSYNC_NOTIFY_URL?.trim() || notify.url || (await readAddress(notify.urlFile));
  if (text === undefined) return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isSafe = url?.protocol === "https:" || (url?.protocol === "http:" && isLoopback(url.hostname));
  if (url !== undefined && isSafe && url.username === "" && url.password === "") return url;
  throw new CliError("the webhook URL is not an https URL without user and password", {
    code: "notify-url-invalid",
    hint: "Correct DRAFTSYNC_NOTIFY_URL, or notify.url_file or notify.url of the config; http is allowed on this machine only.",
  });
}

async function readAddress(file: string | undefined): Promise<string | undefined> {
  if (file === undefined) return undefined;
  const bytes = await readGiven(file, {
    what: "the webhook URL file",
    code: "notify-url-file",
    hint: "Check notify.url_file, or set DRAFTSYNC_NOTIFY_URL instead.",
  });
  return bytes.toString("utf8").trim();
}

/**
 * Posts a notification. Follows no redirect, since that would lead the text elsewhere. Resolves with what went wrong, if
 * anything did, which names the webhook's origin alone.
 */
export async function postToWebhook(
  url: URL,
  {
    notification,
    caFile,
    signal,
  }: {
    readonly notification: object;
    readonly caFile?: string | undefined;
    /** Gives it up. */
    readonly signal: AbortSignal;
  },
): Promise<string | undefined> {
  const { getProxyForUrl } = await import("proxy-from-env");
  const failed = (why: string) => `the webhook notification to ${url.origin} failed: ${why}`;
  try {
    const open = await loadDispatcher(url, {
      connections: 1,
      connectTimeoutMs: timeoutMs,
      proxyFor: (address) => getProxyForUrl(address),
      authorities: caFile === undefined ? [] : [await loadAuthorities(caFile)],
    });
    const dispatcher = open(0);
    try {
      const { statusCode } = await dispatcher.request({
        origin: url.origin,
        path: `${url.pathname}${url.search}`,
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(notification),
        signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
      });
      return statusCode >= 200 && statusCode < 300 ? undefined : failed(`status ${statusCode}`);
    } finally {
      await dispatcher.destroy();
    }
  } catch (error) {
    // A message could hold the address.
    return failed(systemCodeOf(error) ?? (error instanceof Error ? error.name : "unknown"));
  }
}
