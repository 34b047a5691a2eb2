import { InvalidArgumentError } from "commander";
import { parseId } from "../../model/address.ts";
import type { FileKind } from "../../model/resource.ts";
import { isFileKind } from "../../model/resource.ts";
import type { DefineCommand, WriterFlags } from "../cli.ts";
import { examples, withWriterFlags } from "../cli.ts";

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
  withWriterFlags(program.command("doctor"))
    .summary("check whether draftsync works with a service, and which settings fit it")
    .description(
      "Looks at this machine and at the service: address, TLS, key, version header, error shape, rate headers and pace, by " +
        "six calls at most, which only read. It prints the settings that fit, ready to paste. With --draft and --file it also " +
        "sends, after asking, up to four updates that name no attribute: whether that is harmless there, whether PUT does what " +
        "PATCH does, and what data.id is. Works without a config too, with --base-url.",
    )
    .option("--draft <id>", "also probe a file of this draft; it may lose attributes", parseNumber)
    .option(
      "--file <id>",
      "the attached file to probe: it has attributes, which you could type in again",
      parseNumber,
    )
    .option("--kind <kind>", "product_files or promotional_files", parseKind, "product_files")
    .option("--auto-approve", "probe without asking; needed where nobody can be asked")
    .option("--json", "print the checks as JSON")
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
      const { runDoctor } = await import("../doctor-run.ts");
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
