import { Argument } from "commander";
import type { Cli, DefineCommand } from "../cli.ts";
import { examples } from "../cli.ts";

type Subject = "manifest" | "config" | "events";

/** `draftsync schema` */
export const defineSchema: DefineCommand = (program, cli) => {
  program
    .command("schema")
    .summary("print the JSON Schema of manifests, the config, or events")
    .description(
      "Prints a JSON Schema. Editors use those of manifests and the config to complete and check the YAML. " +
        "The one of events describes the output of `apply --json` and `reconcile --json` (docs/reference/events.md).",
    )
    .addArgument(
      new Argument("[subject]", "what the schema describes")
        .choices(["manifest", "config", "events"])
        .default("manifest"),
    )
    .addHelpText(
      "after",
      examples(
        "draftsync schema > manifest.schema.json",
        "draftsync schema config",
        "draftsync schema events",
      ),
    )
    .action((subject: Subject) => runSchema(cli, subject));
};

async function runSchema({ terminal }: Cli, subject: Subject): Promise<void> {
  terminal.out(`${JSON.stringify(await schemaOf(subject), null, 2)}\n`);
}

async function schemaOf(subject: Subject): Promise<object> {
  if (subject === "config") return (await import("../config-schema.ts")).configJsonSchema();
  if (subject === "events") return (await import("../../model/event-schema.ts")).eventJsonSchema();
  return (await import("../../manifest/json-schema.ts")).manifestJsonSchema();
}
