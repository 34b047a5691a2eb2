import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { RecoveryLog } from "../../ledger/recovery-log.ts";
import { systemCodeOf } from "../../model/errors.ts";
import type { Notice, ReconcileResult } from "../../model/reconcile-result.ts";
import { formatNotice, noticeOf, parseNotice } from "../../model/reconcile-result.ts";
import { abortAfter } from "../../model/wait.ts";
import { makeNotification } from "../../report/reconcile-text.ts";
import { isLoopback, loadDispatcher } from "../../service/connections.ts";
import type { Cli } from "../cli.ts";
import type { Config, NotifyConfig } from "../config.ts";
import { CliError } from "../runtime/cli-error.ts";
import { loadAuthorities, readGiven } from "../runtime/input-files.ts";
import { inWorkspaceOf } from "../runtime/workspace.ts";
import { ofAnother } from "./reconcile.ts";

/** Of the whole exchange, milliseconds. */
const timeoutMs = 10_000;

/**
 * The webhook: `DRAFTSYNC_NOTIFY_URL`, or the config's; `undefined` when there is none. Its address is a secret, so no message
 * contains it. Throws {@link CliError} `notify-url-invalid` or `notify-url-file`.
 */
export async function loadWebhook(notify: NotifyConfig, env: NodeJS.ProcessEnv): Promise<URL | undefined> {
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
    /** Aborts the exchange. */
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
    const timeUp = abortAfter(timeoutMs);
    try {
      const { statusCode } = await dispatcher.request({
        origin: url.origin,
        path: `${url.pathname}${url.search}`,
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(notification),
        signal: AbortSignal.any([signal, timeUp.signal]),
      });
      return statusCode >= 200 && statusCode < 300 ? undefined : failed(`status ${statusCode}`);
    } finally {
      timeUp.clear();
      await dispatcher.destroy();
    }
  } catch (error) {
    // A message could hold the address.
    return failed(systemCodeOf(error) ?? (error instanceof Error ? error.name : "unknown"));
  }
}

/**
 * Notifies the webhook when a run's status differs from the last one sent; `ok` is sent only after a failure. The ledger
 * holds the last status sent, so that only one of several processes sends each. A notification that fails is sent by the next
 * run. Never throws: a failure is a warning.
 */
export async function notifyOfChange(
  cli: Cli,
  {
    config,
    webhook,
    end,
  }: { readonly config: Config; readonly webhook: URL | undefined; readonly end: ReconcileResult },
): Promise<void> {
  const notice = noticeOf(end);
  if (webhook === undefined || notice === undefined) return;
  // Each workspace has its notice in its own ledger. While outcomes wait for recovery, no ledger is made.
  const isOwn = end.code !== ofAnother && !mayHaveOutcomes(config);
  const former = await exchange(cli, { config, isOwn, notice });
  if (former === undefined ? notice.status === "ok" : formatNotice(former) === formatNotice(notice)) return;
  const notification = makeNotification(end, notice, former);
  const signal = cli.interrupts.abortInFlight;
  const failure = await postToWebhook(webhook, { notification, caFile: config.service.caFile, signal });
  if (failure === undefined) return;
  cli.terminal.log({ level: "warning", text: `warning: ${failure}\n`, code: "webhook-failed" });
  await exchange(cli, { config, isOwn, notice: former });
}

/** Whether the recovery log has outcomes, or cannot be read. */
function mayHaveOutcomes(config: Config): boolean {
  try {
    return new RecoveryLog(config).pending() !== undefined;
  } catch {
    return true;
  }
}

interface Exchange {
  readonly config: Config;
  /** Whether the ledger may be read. */
  readonly isOwn: boolean;
  readonly notice: Notice | undefined;
}

/**
 * Stores the notice that is being sent, and returns the previous one. While the ledger is unavailable, a file next to it holds
 * the notice, and takes precedence once the ledger is back.
 */
async function exchange(cli: Cli, { config, isOwn, notice }: Exchange): Promise<Notice | undefined> {
  const text = notice === undefined ? undefined : formatNotice(notice);
  // By the config's own name, because a failure may lie in the workspace, service or ledger that it names.
  const file = join(config.root, ".draftsync", `${basename(config.file)}.notice`);
  const kept = parseNotice(await readFile(file, "utf8").catch(() => undefined));
  try {
    if (!isOwn) throw new Error("the ledger is not to be asked");
    const known = await inWorkspaceOf(cli, config, async (workspace) =>
      (await workspace.ledger()).exchangeNotice(text),
    );
    await rm(file, { force: true });
    return kept ?? parseNotice(known);
  } catch {
    await remember(file, text).catch(() => {});
    return kept;
  }
}

async function remember(file: string, text: string | undefined): Promise<void> {
  if (text === undefined) return rm(file, { force: true });
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await writeFile(file, text);
}
