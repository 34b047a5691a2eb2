import { InvalidArgumentError } from "commander";
import { parseId } from "../../model/address.ts";
import { type FileKind, isFileKind } from "../../model/resource.ts";
import type { DefineCommand, WriterFlags } from "../cli.ts";
import { concurrencyOption, examples, withFormat, withWriterFlags } from "../cli.ts";

/** The flags of `doctor`. */
export interface DoctorFlags extends WriterFlags {
  readonly draft?: number;
  readonly file?: number;
  readonly kind: FileKind;
  readonly autoApprove?: boolean;
  readonly json?: boolean;
}

/** `draftsync doctor` */
export const defineDoctor: DefineCommand = (program, cli) => {
  withFormat(withWriterFlags(program.command("doctor")))
    .summary("check whether draftsync works with a service, and which settings fit it")
    .description(
      "Checks this machine and the service with at most six read calls: address, TLS, key, version header, error format, " +
        "rate headers and latency. Prints matching settings, ready to paste. With --draft and --file it asks, then sends up " +
        "to four updates without attributes, to find out whether they are harmless, whether PUT equals PATCH, and what " +
        "data.id is. Works without a config if --base-url is given.",
    )
    .option("--draft <id>", "also probe a file of this draft, which may lose attributes", parseNumber)
    .option("--file <id>", "attached file to probe: one with attributes that you could restore", parseNumber)
    .option(
      "--kind <kind>",
      "list that contains the file: product_files or promotional_files",
      parseKind,
      "product_files",
    )
    .option("--auto-approve", "probe without asking; required without a terminal")
    .addOption(concurrencyOption())
    .addHelpText(
      "after",
      examples(
        "draftsync doctor",
        "DRAFTSYNC_API_KEY=… draftsync doctor --base-url https://api.example.com",
        "draftsync doctor --draft 48213 --file 9900011",
        "draftsync doctor --json | jq '.settings'",
      ),
    )
    .action(async (flags: DoctorFlags) => {
      const { runDoctor } = await import("../runtime/run-doctor.ts");
      await runDoctor(cli, flags);
    });
};

function parseNumber(text: string): number {
  const id = parseId(text);
  if (id === undefined) throw new InvalidArgumentError("An id is a number, such as 48213.");
  return id;
}

function parseKind(text: string): FileKind {
  if (isFileKind(text)) return text;
  throw new InvalidArgumentError("It is product_files or promotional_files.");
}
