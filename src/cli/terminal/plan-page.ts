import type { Diagnostic } from "../../model/diagnostic.ts";
import type { Plan } from "../../model/plan.ts";
import { systemClock } from "../../model/ports.ts";
import { formatPlanPage } from "../../report/html/plan-page.ts";
import { viewPlan } from "../../report/plan-view.ts";
import { loadPageAssets } from "./page-assets.ts";
import { loadThumbnails } from "./plan-images.ts";

interface PlanPageOptions {
  readonly root: string | undefined;
  /** For links to manifests. */
  readonly sourceUrl: string | undefined;
  readonly refusals: readonly Diagnostic[];
}

/** A plan as one HTML page, with the pictures that are found below `root`, the absolute folder of its workspace. */
export async function makePlanPage(
  plan: Plan,
  { root, sourceUrl, refusals }: PlanPageOptions,
): Promise<string> {
  const now = systemClock.now();
  const thumbnails = await loadThumbnails(plan, root);
  const view = viewPlan(plan, now);
  return formatPlanPage(
    { view, planId: plan.plan_id, now, thumbnails, sourceUrl, refusals },
    await loadPageAssets(),
  );
}
