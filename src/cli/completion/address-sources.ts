import { isPostgresLocation } from "../../ledger/postgres/postgres-location.ts";
import { formatAddress, publicationAddress } from "../../model/address.ts";
import { systemClock } from "../../model/ports.ts";
import type { Cli } from "../cli.ts";
import type { Config } from "../config.ts";
import type { Understood } from "./command-words.ts";

/** Bytes of manifests that are read, which somebody who types can wait for. The ledger knows what is left out, once applied. */
const maxManifestBytes = 48 * 1024;

/**
 * Addresses of the workspace for a command line: what is in doubt for `resolve`, what is recorded for `state` and
 * `history`, otherwise both what is recorded and what the manifests ask for. Only reads: no network (so no PostgreSQL), no
 * lock, and a ledger that would have to be brought up to date is left alone. Rejects where a command would.
 */
export async function readAddresses(
  { cwd, env }: Pick<Cli, "cwd" | "env">,
  { given, path }: Pick<Understood, "given" | "path">,
): Promise<readonly string[]> {
  const { loadConfig } = await import("../config.ts");
  const [named, state] = [given.get("config"), given.get("state")];
  const flags = {
    ...(named === undefined ? {} : { config: named }),
    ...(state === undefined ? {} : { state }),
  };
  const config = await loadConfig({ cwd, env, flags });
  const [command] = path;
  if (command === "resolve") return readRecorded(config, "in_doubt");
  if (command === "state" || command === "history") return readRecorded(config, "all");
  const sources = await Promise.allSettled([readDesired(config), readRecorded(config, "all")]);
  return sources.flatMap((read) => (read.status === "fulfilled" ? read.value : []));
}

async function readRecorded(
  { stateLocation: location }: Config,
  which: "all" | "in_doubt",
): Promise<readonly string[]> {
  if (isPostgresLocation(location)) return [];
  const { openLedgerReader } = await import("../../ledger/open-ledger.ts");
  const reader = await openLedgerReader({ location, clock: systemClock });
  try {
    const recorded = await reader.load();
    const inDoubt = recorded.inDoubt.map(({ address }) => address);
    if (which === "in_doubt") return inDoubt;
    return [
      ...recorded.attachments.flatMap(({ address, draftId }) => [`drafts/${draftId}`, address]),
      ...recorded.publications.map(({ draftId }) => publicationAddress(draftId)),
      ...recorded.duplicates.map(({ name }) => formatAddress({ type: "duplicate", name })),
      ...inDoubt,
    ];
  } finally {
    await reader.close();
  }
}

async function readDesired({ root, manifests }: Config): Promise<readonly string[]> {
  const { listAddresses } = await import("../../manifest/list-addresses.ts");
  return listAddresses({ root, patterns: manifests, maxBytes: maxManifestBytes });
}
