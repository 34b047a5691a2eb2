import type { Desired } from "../../model/desired.ts";
import type { LedgerEffect } from "../../model/ports.ts";
import type { Recorded } from "../../model/recorded.ts";
import type { Cli } from "../cli.ts";

/** What was recorded of the time before the ledger, and what the manifests and the ledger have beside it. */
export interface EarlierRecords {
  readonly effects: readonly LedgerEffect[];
  readonly desired: Desired;
  readonly recorded: Recorded;
}

/** Warns of copies of a product made before the ledger: they may exist, too, and the next apply would make them again. */
export function warnOfCopies({ terminal }: Cli, { effects, desired, recorded }: EarlierRecords): void {
  const published = new Set(effects.flatMap((each) => (each.type === "published" ? [each.draftId] : [])));
  const known = new Set([
    ...recorded.duplicates.map(({ name }) => name),
    ...effects.flatMap((each) => (each.type === "duplicated" ? [each.name] : [])),
  ]);
  for (const { name, product } of desired.duplicates) {
    if (product.by !== "draft" || !published.has(product.draftId) || known.has(name)) continue;
    const warning = terminal.paintErr("warning", "warning:");
    terminal.log({
      level: "warning",
      text: `${warning} duplicates/${name} is not recorded, and the next apply copies draft ${product.draftId}; if the copy exists already, run \`draftsync import duplicates/${name}=ID\` first\n`,
      code: "copy-not-recorded",
    });
  }
}
