import { concurrencyOption, type DefineCommand, examples, withFormat, withWriterFlags } from "../cli.ts";
import type { ImportFlags } from "../runtime/run-import.ts";

/** `draftsync import` */
export const defineImport: DefineCommand = (program, cli) => {
  withFormat(withWriterFlags(program.command("import")))
    .summary("record existing files and products")
    .description(
      "Finds files and products that exist at the service and records them with their attributes: files by a probe (an " +
        "update without attributes), products by reading them. Changes nothing at the service.",
    )
    .argument(
      "[address...]",
      "addresses as `plan` shows them; ADDRESS=ID if the address does not contain the id",
    )
    .option("--all", "every file that the manifests declare")
    .option("--file <file>", "a text file with one address a line")
    .addOption(concurrencyOption())
    .option("--write <file>", "add what was imported to this manifest; makes it if it does not exist")
    .addHelpText(
      "after",
      examples(
        "draftsync import --all",
        "draftsync import drafts/48213/product_files/9900011 --write manifests/sea-serpent.yaml",
        "draftsync import drafts/48213/product=771200 duplicates/dragon-winter=771300",
        "draftsync import drafts/48213/product_files/source:files/dragon.blend=9900012",
      ),
    )
    .action(async (words: string[], flags: ImportFlags) => {
      const { runImport } = await import("../runtime/run-import.ts");
      await runImport(cli, words, flags);
    });
};
