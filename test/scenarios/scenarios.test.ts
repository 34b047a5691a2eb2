import { describe, expect, test } from "vitest";
import { formatPlanFile } from "../../src/plan/saved-plan.ts";
import { planScenario, scenarios } from "../support/scenarios.ts";

describe.each(scenarios)("$name: $scenario.about", ({ scenario }) => {
  test("plans the expected changes", async () => {
    const { plan, refusals } = await planScenario(scenario);
    expect(plan.changes.map(({ action, reason, address }) => `${action} ${reason} ${address}`)).toEqual(
      scenario.changes,
    );
    expect((plan.drift ?? []).map(({ type, address }) => `${type} ${address}`)).toEqual(scenario.drift);
    expect(plan.diagnostics.map(({ code }) => code)).toEqual(scenario.diagnostics);
    expect(refusals.map(({ code }) => code)).toEqual(scenario.refusals);
  });

  test("plans the same bytes again", async () => {
    const [first, second] = [await planScenario(scenario), await planScenario(scenario)];
    expect(formatPlanFile(second.plan)).toBe(formatPlanFile(first.plan));
  });
});
