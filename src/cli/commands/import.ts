import type { DefineCommand } from "../cli.ts";
import { examples, withWriterFlags } from "../cli.ts";
import type { ImportFlags } from "../runtime/run-import.ts";

/** `draftsync import` */
export const defineImport: DefineCommand = (program, cli) => {
  withWriterFlags(program.command("import"))
    .summary("record what is at the service already")
    .description(
      "Looks for files and products that exist already and records them, with the attributes they have there: a file by " +
        "a probe, an update that names no attribute; a product by reading it. Changes nothing at the service.",
    )
    .argument("[address...]", "as `plan` shows them; ADDRESS=ID where the address does not hold the id")
    .option("--all", "every file that the manifests ask for")
    .option("--file <file>", "a text file with one address a line")
    .option("--json", "as JSON")
    .addHelpText(
      "after",
      examples(
        "draftsync import --all",
        "draftsync import drafts/48213/product_files/9900011",
        "draftsync import drafts/48213/product=771200 duplicates/dragon-winter=771300",
        "draftsync import drafts/48213/product_files/source:files/dragon.blend=9900012",
      ),
    )
    .action(async (words: string[], flags: ImportFlags) => {
      const { runImport } = await import("../runtime/run-import.ts");
      await runImport(cli, words, flags);
    });
};
