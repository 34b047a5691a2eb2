import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import {
  formatNotice,
  type Notice,
  noticeOf,
  parseNotice,
  type ReconcileResult,
} from "../../model/reconcile-result.ts";
import { makeNotification } from "../../report/reconcile-text.ts";
import type { Cli } from "../cli.ts";
import type { Config } from "../config.ts";
import { recoveryLogOf } from "../runtime/recovery.ts";
import { inWorkspaceOf } from "../runtime/workspace.ts";
import { ofAnother } from "./reconcile.ts";
import { postToWebhook } from "./webhook.ts";

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
  // The ledger of another workspace holds that one's notice. While the recovery log waits, no ledger is created.
  const isOwn = end.code !== ofAnother && !recoveryLogOf(config).isPending();
  const former = await exchange(cli, { config, isOwn, notice });
  if (former === undefined ? notice.status === "ok" : formatNotice(former) === formatNotice(notice)) return;
  const notification = makeNotification(end, notice, former);
  const signal = cli.interrupts.abortInFlight;
  const failure = await postToWebhook(webhook, { notification, caFile: config.service.caFile, signal });
  if (failure === undefined) return;
  cli.terminal.log({ level: "warning", text: `warning: ${failure}\n`, code: "webhook-failed" });
  await exchange(cli, { config, isOwn, notice: former });
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
  const file = join(config.root, ".draftsync", `${config.workspace}.notice`);
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
