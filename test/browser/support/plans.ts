import { loadPageAssets } from "../../../src/cli/terminal/page-assets.ts";
import type { Plan } from "../../../src/model/plan.ts";
import { buildPlan } from "../../../src/plan/build-plan.ts";
import type { Thumbnails } from "../../../src/report/html/plan-page.ts";
import { formatPlanPage } from "../../../src/report/html/plan-page.ts";
import { viewPlan } from "../../../src/report/plan-view.ts";
import {
  callProfile,
  desiredWith,
  draftWith,
  recordedFile,
  recordedWith,
  wanted,
  wantedFile,
} from "../../support/planning.ts";

const now = Date.UTC(2026, 10, 21);

/** The page of a plan. */
export async function pageOf(
  plan: Plan,
  {
    thumbnails = new Map(),
    sourceUrl,
  }: { readonly thumbnails?: ReadonlyMap<string, Thumbnails>; readonly sourceUrl?: string } = {},
): Promise<string> {
  const input = { view: viewPlan(plan, now), planId: plan.plan_id, now, thumbnails, sourceUrl };
  return formatPlanPage(input, await loadPageAssets());
}

const frame = {
  workspace: "studio-a",
  serviceOrigin: "https://api.example.com",
  rate: { limit: 10, windowMs: 1000 },
  profile: callProfile,
  diagnostics: [],
};

const before = "A quiet harbour at dawn.\nTwo boats, one lamp.\n";
const after = "A quiet harbour at dusk.\nTwo boats, one bright lamp.\n";

/** Three drafts with two updates, a create, a delete and a publish. */
export function makeSmallPlan(): Plan {
  const promotional = { kind: "promotional_files" } as const;
  return buildPlan({
    ...frame,
    desired: desiredWith({
      drafts: [
        draftWith(1, {
          attachments: [
            wanted(1, "promotional_files", { by: "file_id", fileId: 10 }, { description: after }),
            wantedFile(1, 11, { renderer: "karma" }),
          ],
        }),
        draftWith(2, {
          attachments: [wantedFile(2, 20, { file_format: "fbx" })],
          publish: { revision: 1, position: 1 },
        }),
        draftWith(3),
      ],
    }),
    recorded: recordedWith({
      attachments: [
        recordedFile(1, 10, { ...promotional, attributes: { description: before } }),
        recordedFile(1, 11, { attributes: { renderer: "arnold" } }),
        recordedFile(3, 30, { attributes: { renderer: "vray" } }),
      ],
    }),
  });
}

/** This many updates of descriptions, ten per draft. */
export function makeLargePlan(changes: number): Plan {
  const ids = Array.from({ length: changes }, (_none, at) => ({
    draft: Math.floor(at / 10) + 1,
    file: at + 1,
  }));
  const drafts = Array.from({ length: Math.ceil(changes / 10) }, (_none, at) =>
    draftWith(at + 1, {
      attachments: ids.slice(at * 10, at * 10 + 10).map(({ draft, file }) => {
        const attributes = { description: `${after}${file}` };
        return wanted(draft, "promotional_files", { by: "file_id", fileId: file }, attributes);
      }),
    }),
  );
  const attachments = ids.map(({ draft, file }) =>
    recordedFile(draft, file, { kind: "promotional_files", attributes: { description: `${before}${file}` } }),
  );
  return buildPlan({ ...frame, desired: desiredWith({ drafts }), recorded: recordedWith({ attachments }) });
}
