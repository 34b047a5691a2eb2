import type { FleetStatus } from "../../fleet/fleet-status.ts";
import type { FleetStore } from "../../fleet/fleet-store.ts";
import { statusWords } from "../../fleet/fleet-text.ts";
import { viewFleet } from "../../fleet/fleet-view.ts";
import type { Cli } from "../cli.ts";
import { loadWebhookOf, postToWebhook } from "../reconcile/webhook.ts";
import type { FleetConfig } from "./fleet-config.ts";

/** Named in one notification; the rest is counted. */
const maxNamed = 20;

/**
 * Notifies the webhook once of all workspaces whose status changed; `ok` is sent only after trouble. The database lets one worker
 * have each change. Never throws: a notification that fails is a warning, and the next sweep sends it.
 */
export async function notifyOfFleet(cli: Cli, config: FleetConfig, store: FleetStore): Promise<void> {
  const urlFile = config.notifyUrlFile;
  const url = await loadWebhookOf({ ...(urlFile === undefined ? {} : { urlFile }) }, cli.env);
  if (url === undefined) return;
  const { workspaces } = viewFleet(await store.list(), await store.lastRuns());
  const changed: { name: string; status: FleetStatus; former: string | null; reason: string | undefined }[] =
    [];
  for (const { name, status, last_run } of workspaces) {
    const change = await store.exchangeNotice(name, status);
    if (change === undefined || (change.former === null && !isTrouble(status))) continue;
    changed.push({ name, status, former: change.former, reason: last_run?.error?.code });
  }
  const changes = changed.filter(({ status, former }) => isTrouble(status) || isTrouble(former));
  if (changes.length === 0) return;
  const notification = {
    text: `draftsync fleet: ${changes
      .slice(0, maxNamed)
      .map(({ name, status }) => `${name} is ${statusWords[status]}`)
      .join(
        ", ",
      )}${changes.length > maxNamed ? ` and ${changes.length - maxNamed} more` : ""}. \`draftsync fleet status\` has the details.`,
    format_version: 1,
    changes: changes.map(({ name, status, former, reason }) => ({
      workspace: name,
      status,
      ...(former === null ? {} : { former_status: former }),
      ...(reason === undefined ? {} : { reason }),
    })),
  };
  const failure = await postToWebhook(url, { notification, signal: cli.interrupts.abortInFlight });
  if (failure === undefined) return;
  cli.terminal.log({ level: "warning", text: `warning: ${failure}\n`, code: "webhook-failed" });
  for (const { name, former } of changed) await store.exchangeNotice(name, former ?? "none");
}

function isTrouble(status: string | null): boolean {
  return status === "in_doubt" || status === "failing" || status === "behind";
}
