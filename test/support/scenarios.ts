import { createHash } from "node:crypto";
import { parse } from "yaml";
import { z } from "zod";
import { loadManifests } from "../../src/manifest/load-manifests.ts";
import { parseAddress } from "../../src/model/address.ts";
import type { Desired } from "../../src/model/desired.ts";
import type { Observation, Observed } from "../../src/model/observed.ts";
import type { OperationIntent, Recorded, RecordedAttachment } from "../../src/model/recorded.ts";
import { pickAttributes } from "../../src/model/resource.ts";
import { buildPlan } from "../../src/plan/build-plan.ts";
import { checkSafety } from "../../src/plan/safety.ts";
import { detectDrift } from "../../src/refresh/detect-drift.ts";
import { makeFolder } from "./cli.ts";
import { complete } from "./complete.ts";
import { callProfile, recordedWith } from "./planning.ts";
import { filesBelow } from "./source-files.ts";

const text = z.string();
const id = z.int();

/** A scenario: the manifests, the ledger, and the changes that follow. */
const scenarioSchema = z.strictObject({
  about: text,
  desired: text,
  /** Local files and their content. */
  files: z.record(text, text).default({}),
  recorded: z
    .strictObject({
      /** By draft id. */
      titles: z.record(text, text).default({}),
      protected: z.array(id).default([]),
      /** By address; `content` is the uploaded content. */
      attachments: z
        .record(text, z.looseObject({ file_id: id.optional(), content: text.optional() }))
        .default({}),
      /** Product ids by draft and revision: `"48213 r1": 900`. */
      publications: z.record(text, id).default({}),
      duplicates: z.record(text, z.strictObject({ product_id: id, of: id })).default({}),
      /** Operations in doubt, by address. */
      in_doubt: z.record(text, z.enum(["attach", "update", "detach", "publish", "duplicate"])).default({}),
    })
    .prefault({}),
  /** The state at the service in a complete refresh; absent: no refresh. */
  observed: z
    .strictObject({
      /** By address: the attributes, or that the file is not attached or could not be read. */
      attachments: z
        .record(text, z.union([z.enum(["absent", "unreadable"]), z.looseObject({ file_id: id.optional() })]))
        .default({}),
      /** By id. */
      products: z.record(text, z.enum(["present", "absent", "unreadable"])).default({}),
    })
    .optional(),
  /** `type address`, in the order of the plan. */
  drift: z.array(text).default([]),
  /** `action reason address`, in the order of the plan. */
  changes: z.array(text),
  /** Codes of the plan's diagnostics, and of the safety refusals. */
  diagnostics: z.array(text).default([]),
  refusals: z.array(text).default([]),
});
/** See {@link scenarioSchema}. */
export type Scenario = z.infer<typeof scenarioSchema>;

const provenance = { by: "post", at: Date.UTC(2026, 0, 2) } as const;

function recordedOf({ recorded }: Scenario): Recorded {
  return recordedWith({
    titles: new Map(Object.entries(recorded.titles).map(([draftId, title]) => [Number(draftId), title])),
    protectedDrafts: new Set(recorded.protected),
    attachments: Object.entries(recorded.attachments).map(([address, entry]) => attachmentOf(address, entry)),
    publications: Object.entries(recorded.publications).map(([key, productId]) => {
      const [draft, revision] = key.split(" r").map(Number);
      return { draftId: draft ?? 0, revision: revision ?? 0, productId, provenance };
    }),
    duplicates: Object.entries(recorded.duplicates).map(([name, { product_id, of }]) => ({
      name,
      from: { by: "product_id", productId: of },
      sourceProductId: of,
      productId: product_id,
      provenance,
    })),
    inDoubt: Object.entries(recorded.in_doubt).map(([address, kind]) => ({
      id: `operation-of-${address}`,
      runId: "run-1",
      address,
      kind,
      method: kind === "update" ? "PATCH" : "POST",
      path: "/api/…",
      intent: intentOf(address),
      startedAt: Date.UTC(2026, 0, 2, 3, 4, 5),
      detail: "the connection was reset",
    })),
  });
}

/** What was sent: a file has no attributes. */
function intentOf(text: string): OperationIntent {
  const address = parseAddress(text);
  if (address?.type !== "attachment" || address.ref.by !== "file_id") return {};
  return { draftId: address.draftId, fileKind: address.kind, fileId: address.ref.fileId, attributes: {} };
}

function attachmentOf(text: string, entry: Scenario["recorded"]["attachments"][string]): RecordedAttachment {
  const address = parseAddress(text);
  if (address?.type !== "attachment") throw new Error(`${text} is not an attachment`);
  const { file_id, content, ...attributes } = entry;
  const fileId = address.ref.by === "file_id" ? address.ref.fileId : (file_id ?? 0);
  const { draftId, kind } = address;
  const sha256 = content === undefined ? {} : { sha256: createHash("sha256").update(content).digest("hex") };
  return { draftId, kind, fileId, address: text, attributes, ...sha256, provenance };
}

/** When the service was checked. */
const observedAt = Date.UTC(2026, 0, 5);
/** When the plan of a scenario is shown. */
export const shownAt = observedAt + 60_000;

function observedOf({ observed }: Scenario, desired: Desired, recorded: Recorded): Observed | undefined {
  if (observed === undefined) return undefined;
  const failure = {
    code: "server-error",
    message: "the service failed",
    errors: [],
    stops: "operation",
  } as const;
  const observations = [
    ...Object.entries(observed.attachments).map(([text, reported]): Observation => {
      const address = parseAddress(text);
      if (address?.type !== "attachment") throw new Error(`${text} is not an attachment`);
      const { draftId, kind, ref } = address;
      const known = recorded.attachments.find((each) => each.address === text)?.fileId;
      const given = typeof reported === "object" ? reported.file_id : undefined;
      const fileId = ref.by === "file_id" ? ref.fileId : (given ?? known ?? 0);
      const observation = {
        type: "attachment",
        address: text,
        target: { draftId, kind, fileId },
        at: observedAt,
      } as const;
      if (reported === "unreadable") return { ...observation, read: { type: reported, failure } };
      if (reported === "absent") return { ...observation, read: { type: reported } };
      const { file_id: _, ...attributes } = reported;
      return { ...observation, read: { type: "present", value: pickAttributes(kind, attributes) } };
    }),
    ...Object.entries(observed.products).map(([productId, reported]): Observation => {
      const observation = {
        type: "product",
        address: productAddress(Number(productId), recorded),
        productId: Number(productId),
        at: observedAt,
      } as const;
      if (reported === "unreadable") return { ...observation, read: { type: reported, failure } };
      return {
        ...observation,
        read: reported === "absent" ? { type: reported } : { type: reported, value: null },
      };
    }),
  ];
  const found = detectDrift({ observations, desired, recorded, settleDelayMs: 30_000 });
  const summary = {
    mode: "full",
    attachments: "probe",
    calls: observations.length,
    max_calls: null,
    checked: observations.length - found.unreadable.length,
    unreadable: found.unreadable.length,
    deferred: 0,
    not_checked: found.unreadable.length,
    oldest_unconfirmed: null,
  } as const;
  return { summary, ...found };
}

function productAddress(productId: number, { publications, duplicates }: Recorded): string {
  const publication = publications.find((each) => each.productId === productId);
  if (publication !== undefined) return `drafts/${publication.draftId}/product`;
  return `duplicates/${duplicates.find((each) => each.productId === productId)?.name}`;
}

/** The plan of a scenario, and the safety refusals of apply. */
export async function planScenario(scenario: Scenario) {
  const folder = await makeFolder({ "manifests/all.yaml": scenario.desired, ...scenario.files });
  const patterns = ["manifests/*.yaml"];
  const loaded = complete(
    await loadManifests({ root: folder.path, patterns, sources: "hash" }).finally(folder.dispose),
  );
  const recorded = recordedOf(scenario);
  const observed = observedOf(scenario, loaded.desired, recorded);
  const plan = buildPlan({
    workspace: "scenario",
    serviceOrigin: "https://api.example.com",
    desired: loaded.desired,
    recorded,
    ...(observed === undefined ? {} : { observed }),
    rate: { limit: 10, windowMs: 1000 },
    profile: callProfile,
    diagnostics: loaded.diagnostics,
  });
  const limits = { maxDeletes: { percent: 30, above: 10 }, removedDrafts: "refuse" } as const;
  return { plan, refusals: checkSafety(plan, recorded, limits) };
}

/** Every scenario, by the name of its file. */
export const scenarios = filesBelow("test/scenarios", ".yaml").map(({ path, text }) => ({
  name: path.slice("test/scenarios/".length, -".yaml".length),
  scenario: scenarioSchema.parse(parse(text)),
}));
