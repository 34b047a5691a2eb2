import { Argument } from "commander";
import { type DefineCommand, examples } from "../cli.ts";

const subjects = {
  manifest: async () => (await import("../../manifest/manifest-schema.ts")).manifestJsonSchema(),
  config: async () => (await import("../config-schema.ts")).configJsonSchema(),
  events: async () => (await import("../../model/event-schema.ts")).eventJsonSchema(),
  fleet: async () => (await import("../fleet/fleet-config.ts")).fleetJsonSchema(),
  plan: async () => (await import("../../plan/plan-schema.ts")).planJsonSchema(),
} satisfies Record<string, () => Promise<object>>;

/** `draftsync schema` */
export const defineSchema: DefineCommand = (program, cli) => {
  program
    .command("schema")
    .summary("print the JSON Schema of manifests, the config, a fleet, events, or plans")
    .description(
      "Prints a JSON Schema. Editors use those of manifests, the config and fleet.yaml to complete and check the YAML. " +
        "The one of events describes the output of `apply --json` and `reconcile --json` (docs/reference/events.md), the one of " +
        "plans that of `plan --json` and a saved plan.",
    )
    .addArgument(
      new Argument("[subject]", "what the schema describes")
        .choices(Object.keys(subjects))
        .default("manifest"),
    )
    .addHelpText(
      "after",
      examples(
        "draftsync schema > manifest.schema.json",
        "draftsync schema config",
        "draftsync schema events",
        "draftsync schema plan",
      ),
    )
    .action(async (subject: keyof typeof subjects) => {
      cli.terminal.out(`${JSON.stringify(await subjects[subject](), null, 2)}\n`);
    });
};
