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
 * Tells the webhook of a round when people know another status than its; that all is well is told only after it was not.
 * What they know is in the ledger, so that it holds over processes and machines, and only one of several tells. What could
 * not be told is told by the next round. Never throws: a failure is a warning.
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
  // A ledger of another workspace has that one's notice. While outcomes wait to be taken in, none is made where one is missing.
  const isOwn = end.code !== ofAnother && !recoveryLogOf(config).isPending();
  const former = await exchange(cli, { config, isOwn, notice });
  if (former === undefined ? notice.status === "ok" : formatNotice(former) === formatNotice(notice)) return;
  const notification = makeNotification(end, notice, former);
  const signal = cli.interrupts.abortInFlight;
  const failure = await postToWebhook(webhook, { notification, config, signal });
  if (failure === undefined) return;
  cli.terminal.log({ level: "warning", text: `warning: ${failure}\n`, code: "webhook-failed" });
  await exchange(cli, { config, isOwn, notice: former });
}

interface Exchange {
  readonly config: Config;
  /** Whether the ledger may be asked. */
  readonly isOwn: boolean;
  readonly notice: Notice | undefined;
}

/**
 * Notes what people are told, and returns what they knew. While the ledger cannot be asked a file beside it remembers, and
 * is what counts once the ledger is back.
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
