import fc from "fast-check";
import { expect, test } from "vitest";
import { openLedger } from "../../../src/ledger/open-ledger.ts";
import { type LedgerEffect, systemClock } from "../../../src/model/ports.ts";
import { runs } from "../../support/runs.ts";
import { anyEffect } from "./ledger-arbitraries.ts";
import { LedgerModel } from "./ledger-model.ts";
import { databases } from "./samples.ts";

test.each(databases)(
  "$name: matches the model after any sequence of effects, and ignores a refused batch",
  async ({ locate }) => {
    const batches = fc.array(fc.array(anyEffect, { minLength: 1, maxLength: 3 }), { maxLength: 15 });
    await fc.assert(
      fc.asyncProperty(batches, async (sequence) => {
        const ledger = await openLedger({ location: locate(), clock: systemClock });
        const model = new LedgerModel();
        for (const effects of sequence) {
          const accepted = await ledger.record(effects).then(
            () => true,
            () => false,
          );
          expect(model.record(effects)).toBe(accepted);
        }
        const { lineage: _, versions: __, ...recorded } = await ledger.load();
        await ledger.close();
        expect(recorded).toEqual(model.recorded());
      }),
      runs(6),
    );
  },
  60_000,
);

test.each(databases)(
  "$name: exports the same bytes for any order of unrelated effects",
  async ({ locate }) => {
    const exported = async (effects: readonly LedgerEffect[]) => {
      const ledger = await openLedger({ location: locate(), clock: systemClock });
      for (const each of effects) await ledger.record([each]);
      const { lineage: _, versions: __, ...rest } = await ledger.export();
      await ledger.close();
      return JSON.stringify(rest);
    };
    const unrelated = fc.uniqueArray(anyEffect.filter(standsAlone), { selector: subjectOf, maxLength: 12 });
    const orders = unrelated.chain((effects) =>
      fc.tuple(fc.constant(effects), fc.shuffledSubarray(effects, { minLength: effects.length })),
    );
    await fc.assert(
      fc.asyncProperty(orders, async ([one, other]) => {
        expect(await exported(other)).toBe(await exported(one));
      }),
      runs(6),
    );
  },
  60_000,
);

/** Effects that do not depend on other effects. */
function standsAlone(each: LedgerEffect): boolean {
  if (each.type === "attached") return each.replaces === undefined && /\/\d+$/.test(each.attachment.address);
  if (each.type === "duplicated") return each.from.by !== "draft";
  return (
    each.type !== "rerecorded" &&
    each.type !== "values_forgotten" &&
    each.type !== "readdressed" &&
    each.type !== "upload_ended" &&
    each.type !== "upload_found" &&
    each.type !== "object_stored" &&
    each.type !== "object_forgotten" &&
    each.type !== "product_confirmed" &&
    each.type !== "maybe_published" &&
    each.type !== "maybe_published_settled" &&
    each.type !== "detached"
  );
}

function subjectOf(each: LedgerEffect): string {
  switch (each.type) {
    case "attached":
      return each.attachment.address;
    case "published":
      return `drafts/${each.draftId}/product/${each.revision}`;
    case "duplicated":
    case "duplicate_forgotten":
      return `duplicates/${each.name}`;
    case "protection":
      return `drafts/${each.draftId}`;
    case "refreshed":
      return each.resource;
    case "upload_registered":
      return `uploads/${each.uploadId}`;
    default:
      return each.type;
  }
}
