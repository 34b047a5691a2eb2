import { resolve } from "node:path";
import type { Plan } from "../../model/plan.ts";
import type { Cli, DefineCommand } from "../cli.ts";
import { examples } from "../cli.ts";
import { findRoot } from "../config.ts";
import { readGiven } from "../runtime/read-input-file.ts";
import { checkFormatFlags } from "../terminal/format-flags.ts";
import { type PlanFormatFlags, showPlan, withPlanFormatFlags } from "../terminal/plan-format.ts";

/** `draftsync show` */
export const defineShow: DefineCommand = (program, cli) => {
  withPlanFormatFlags(program.command("show"))
    .summary("show a saved plan")
    .description(
      "Shows a saved plan. Needs no config, ledger or network. With --format html, it includes pictures that have not changed since.",
    )
    .argument("<plan>", "file that `draftsync plan --out` wrote")
    .addHelpText(
      "after",
      examples(
        "draftsync show plan.json",
        "draftsync show plan.json --format json | jq .estimate",
        "draftsync show plan.json --format markdown | gh pr comment --body-file -",
        "draftsync show plan.json --format html > plan.html",
      ),
    )
    .action(async (file: string, flags: PlanFormatFlags) => {
      checkFormatFlags(flags);
      const root = await findRoot(cli.cwd);
      await showPlan(cli, await loadSavedPlan(cli, file), { ...flags, root });
    });
};

/** Reads a saved plan. Throws `CliError` `plan-missing`, and what `parsePlanFile` throws. */
export async function loadSavedPlan({ cwd }: Cli, file: string): Promise<Plan> {
  const { parsePlanFile } = await import("../../plan/saved-plan.ts");
  const bytes = await readGiven(resolve(cwd, file), {
    what: "the saved plan",
    code: "plan-missing",
    hint: "Write one with `draftsync plan --out FILE`.",
  });
  return parsePlanFile(bytes.toString("utf8"), file);
}
