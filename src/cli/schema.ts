import { Argument } from "commander";
import type { Cli, DefineCommand } from "./cli.ts";
import { examples } from "./cli.ts";

/** `draftsync schema` */
export const defineSchema: DefineCommand = (program, cli) => {
  program
    .command("schema")
    .summary("print the JSON Schema of manifests or of the config")
    .description("Prints a JSON Schema, from which editors complete and check the YAML.")
    .addArgument(new Argument("[what]", "which one").choices(["manifest", "config"]).default("manifest"))
    .addHelpText("after", examples("draftsync schema > manifest.schema.json", "draftsync schema config"))
    .action((what: "manifest" | "config") => runSchema(cli, what));
};

async function runSchema({ terminal }: Cli, what: "manifest" | "config"): Promise<void> {
  terminal.out(`${JSON.stringify(await schemaOf(what), null, 2)}\n`);
}

async function schemaOf(what: "manifest" | "config"): Promise<object> {
  if (what === "config") return (await import("./config-schema.ts")).configJsonSchema();
  return (await import("../manifest/json-schema.ts")).manifestJsonSchema();
}
