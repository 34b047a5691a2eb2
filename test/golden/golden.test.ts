import { describe, expect, test } from "vitest";
import type { Diagnostic } from "../../src/model/diagnostic.ts";
import type { Plan } from "../../src/model/plan.ts";
import { formatPlanFile } from "../../src/plan/saved-plan.ts";
import { formatDiagnostics } from "../../src/report/diagnostic-text.ts";
import { makePalette } from "../../src/report/palette.ts";
import { formatPlanPage } from "../../src/report/html/plan-page.ts";
import { formatPlanMarkdown } from "../../src/report/plan-markdown.ts";
import { markdownChars } from "../../src/report/markdown.ts";
import { formatPlanText } from "../../src/report/plan-text.ts";
import { viewPlan } from "../../src/report/plan-view.ts";
import { planScenario, scenarios, shownAt } from "../support/scenarios.ts";
import { filesBelow } from "../support/source-files.ts";

type Format = (plan: Plan, refusals: readonly Diagnostic[]) => string;

const plain = makePalette(false);
const formatText: Format = (plan, refusals) => {
  const refused = refusals.length === 0 ? "" : `\nRefused:\n\n${formatDiagnostics(refusals, plain)}\n`;
  return `${formatPlanText(viewPlan(plan, shownAt), plain)}${refused}`;
};

/** Formats by file extension. */
const formats: Readonly<Record<string, Format>> = {
  txt: formatText,
  json: (plan) => formatPlanFile(plan),
  md: (plan, refusals) =>
    formatPlanMarkdown(viewPlan(plan, shownAt), { maxChars: markdownChars, refusals }),
  // Script and style of the page are separate files.
  html: (plan, refusals) => formatPlanPage({ ...pageOf(plan), refusals }, { script: "", style: "" }),
};

function pageOf(plan: Plan) {
  return { view: viewPlan(plan, shownAt), planId: plan.plan_id, now: shownAt, thumbnails: new Map() };
}

/** Every scenario is compared as text and Markdown; HTML and JSON only where they add coverage. */
const chosen: Readonly<Record<string, readonly string[]>> = {
  json: ["doubt", "drift", "files", "first-apply", "protection", "publications", "removed-drafts", "replaced"],
  html: ["doubt", "drift", "everything-gone", "files", "first-apply", "hostile", "no-changes", "removed-drafts", "texts"],
};

describe.each(Object.entries(formats))("plan as %s", (ending, format) => {
  const cases = scenarios.filter(({ name }) => chosen[ending]?.includes(name) ?? true);

  test.each(cases)("$name: $scenario.about", async ({ name, scenario }) => {
    const { plan, refusals } = await planScenario(scenario);
    await expect(format(plan, refusals)).toMatchFileSnapshot(`scenarios/${name}.${ending}`);
  });

  test("has no golden file without a scenario", () => {
    const golden = filesBelow("test/golden/scenarios", `.${ending}`).map(({ path }) => path);
    const wanted = cases.map(({ name }) => `test/golden/scenarios/${name}.${ending}`);
    expect(golden.sort()).toEqual(wanted.sort());
  });
});
