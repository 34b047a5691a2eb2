import fc from "fast-check";
import type { Change, Reason } from "../../src/model/change.ts";
import type { Diagnostic } from "../../src/model/diagnostic.ts";
import type { Drift } from "../../src/model/drift.ts";
import type { Plan, Summary } from "../../src/model/plan.ts";
import { planFormatVersion } from "../../src/model/plan.ts";

const words = `
  @team @org/people #1 GH-1 !1 &1 %2 ~label a@b.example owner/name#3 [a](https://evil.example)
  ![a](https://evil.example/x.png) https://evil.example www.evil.example <https://evil.example>
  <script>alert(1)</script> </details> </code> </pre> </blockquote> <!-- --> -- &lt;b&gt; &#64;team &amp;
  ~~~ | ** __ ~~ $$ [^1] :tada: 🐉 海 é a 1. deadbeef12 {+x+} [-y-] [[_TOC_]]`;

const pieces = [
  ...words.trim().split(/\s+/),
  ...["<img src=x onerror=y>", "<details open>", "`", "``", "```", "\n```\n", "\\|", "\\", "$`x`$"],
  ...["\n\n", "\n# h\n", "\n- [ ] x", "\n> q", "/close\n", "\t", "    ", " ", "\r", "word "],
  ...["\u0000", "\u202e", "\u2066", "\u200b", "\u2028", "\ud800"],
];

/** Text that tries to take effect in Markdown or HTML. */
export const hostileText: fc.Arbitrary<string> = fc
  .array(fc.oneof({ weight: 6, arbitrary: fc.constantFrom(...pieces) }, fc.string({ unit: "binary" })), {
    maxLength: 8,
  })
  .map((parts) => parts.join(""));

const longText = fc
  .tuple(hostileText, fc.nat(120), fc.constantFrom(" ", "\n", "x"))
  .map(([text, times, between]) => `${text}${between}`.repeat(times));
const anyText = fc.oneof({ weight: 5, arbitrary: hostileText }, { weight: 1, arbitrary: longText });
const id = fc.integer({ min: 1, max: 9_000_000_000 });
const reason = fc.constantFrom<Reason>("attributes_differ", "drifted", "not_in_manifest", "content_changed");

const address = fc.oneof(
  fc
    .tuple(fc.integer({ min: 1, max: 12 }), hostileText)
    .map(([draft, text]) => `drafts/${draft}/product_files/source:${text}`),
  fc.integer({ min: 1, max: 12 }).map((draft) => `drafts/${draft}/product`),
  hostileText.map((text) => `duplicates/${text}`),
  hostileText,
);
const confirmed = fc.constant({ by: "post", at: "2026-01-02T00:00:00.000Z" } as const);
const attachment = fc.record({
  file_id: id,
  renderer: hostileText,
  description: anyText,
  address: hostileText,
});
const attributes = fc.constantFrom(["description"], ["renderer"], ["renderer", "description"], []);
const shared = { address, reason, attributes };

const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({
    ...shared,
    action: fc.constant("create" as const),
    before: fc.constant(null),
    after: attachment,
  }),
  fc.record({
    ...shared,
    action: fc.constant("update" as const),
    before: attachment,
    after: attachment,
    confirmed,
  }),
  fc.record({ ...shared, action: fc.constant("replace" as const), before: attachment, after: attachment }),
  fc.record({ ...shared, action: fc.constant("adopt" as const), before: attachment, after: attachment }),
  fc.record({
    ...shared,
    action: fc.constant("delete" as const),
    before: attachment,
    after: fc.constant(null),
  }),
  fc.record({
    ...shared,
    action: fc.constant("publish" as const),
    before: fc.oneof(fc.constant(null), fc.record({ revision: id, product_id: id })),
    after: fc.record({ revision: id }),
  }),
  fc.record({
    ...shared,
    action: fc.constant("duplicate" as const),
    before: fc.constant(null),
    after: fc.record({ product_id: id }),
  }),
  fc.record({
    ...shared,
    action: fc.constant("in_doubt" as const),
    before: fc.record({
      operation_id: hostileText,
      kind: fc.constantFrom("publish", "attach"),
      method: hostileText,
      path: hostileText,
      since: hostileText,
      detail: anyText,
    }),
    after: fc.oneof(fc.constant(null), attachment),
  }),
);

const drift: fc.Arbitrary<Drift> = fc.record({
  address,
  type: fc.constant("changed" as const),
  before: attachment,
  after: attachment,
  attributes,
  confirmed,
  observed_at: fc.constant("2026-01-04T00:00:00.000Z"),
});

/** A diagnostic with only hostile texts. */
export const hostileDiagnostic: fc.Arbitrary<Diagnostic> = fc.record({
  severity: fc.constantFrom("error", "warning", "info"),
  code: hostileText,
  message: anyText,
  hint: anyText,
  place: fc.record({ file: hostileText, line: id, column: id }),
});

/** A plan with only hostile external texts. Its summary matches its changes. */
export function hostilePlan(max: number): fc.Arbitrary<Plan> {
  return fc
    .record({
      workspace: anyText,
      service_origin: anyText,
      changes: fc.array(change, { maxLength: max }),
      drift: fc.array(drift, { maxLength: max }),
      diagnostics: fc.array(hostileDiagnostic, { maxLength: max }),
      drafts: fc.array(fc.record({ address, title: hostileText, declared_at: hostileText }), {
        maxLength: max,
      }),
      removed_drafts: fc.array(fc.record({ address, deletes: id }), { maxLength: max }),
      unmanaged: fc.array(fc.record({ address, files: id }), { maxLength: max }),
    })
    .map((parts) => ({
      format_version: planFormatVersion,
      plan_id: "0".repeat(64),
      base: { lineage: "lineage-1", serial: 1, resources: [] },
      new_ledger: false,
      summary: summaryOf(parts.changes),
      estimate: {
        calls: { min: 3, max: 9 },
        seconds: 1,
        rate: { limit: 10, window_ms: 1000 },
        uploads_per_read: 50,
      },
      ...parts,
    }));
}

function summaryOf(changes: readonly Change[]): Summary {
  const counts: Record<string, number> = {};
  for (const { action } of changes) counts[action] = (counts[action] ?? 0) + 1;
  return counts;
}
