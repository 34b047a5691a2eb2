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
      "Prints a JSON Schema: of manifests or the config, from which editors complete and check the YAML, or of the events that --json writes (docs/reference/events.md).",
    )
    .addArgument(
      new Argument("[what]", "which one").choices(["manifest", "config", "events"]).default("manifest"),
    )
    .addHelpText(
      "after",
      examples(
        "draftsync schema > manifest.schema.json",
        "draftsync schema config",
        "draftsync schema events",
      ),
    )
    .action((what: Subject) => runSchema(cli, what));
};

async function runSchema({ terminal }: Cli, what: Subject): Promise<void> {
  terminal.out(`${JSON.stringify(await schemaOf(what), null, 2)}\n`);
}

async function schemaOf(what: Subject): Promise<object> {
  if (what === "config") return (await import("../config-schema.ts")).configJsonSchema();
  if (what === "events") return (await import("../../model/event-schema.ts")).eventJsonSchema();
  return (await import("../../manifest/json-schema.ts")).manifestJsonSchema();
}
