import { resolve } from "node:path";
import { RecoveryLog } from "../../ledger/recovery-log.ts";
import { exportDocument, parseExport } from "../../ledger/transfer.ts";
import { isKept } from "../../model/lock.ts";
import { isInScope } from "../../model/scope.ts";
import { describeHolder } from "../../report/lock-text.ts";
import { plural } from "../../report/quantities.ts";
import { formatEntry, formatEntryList, listEntries } from "../../report/state-text.ts";
import type { Cli, DefineCommand, WorkspaceFlags, WriterFlags } from "../cli.ts";
import { examples, withFormat, withWorkspaceFlags, withWriterFlags } from "../cli.ts";
import { CliError } from "../runtime/cli-error.ts";
import { readGiven } from "../runtime/input-files.ts";
import { readLedger, readScopes } from "../runtime/ledger-access.ts";
import { withLock } from "../runtime/with-lock.ts";
import { inWorkspace } from "../runtime/workspace.ts";
import { printJson } from "../terminal/print-json.ts";
import { defineEdits, defineRebind } from "./state-edit.ts";
import { defineRecover } from "./state-recover.ts";

interface StateFlags extends WorkspaceFlags {
  readonly json?: boolean;
}

/** `draftsync state list|show|rm|mv|rebind|export|import|recover` */
export const defineState: DefineCommand = (program, cli) => {
  const state = program
    .command("state")
    .summary("inspect and edit the ledger")
    .description("The ledger records what draftsync did. The service may have changed since.");
  withFormat(withWorkspaceFlags(state.command("list")))
    .summary("list all records")
    .description(
      "Lists every recorded attachment, publication, duplicate and upload by address, with how and when it was confirmed.",
    )
    .argument("[address]", "only this address and everything below it")
    .addHelpText("after", examples("draftsync state list", "draftsync state list drafts/48213 --json"))
    .action((address: string | undefined, flags: StateFlags) => runList(cli, address, flags));
  withFormat(withWorkspaceFlags(state.command("show")))
    .summary("show the record of an address and its history")
    .description("Shows the record of an address, and every writing call that was sent for it.")
    .argument("<address>", "an address from `state list` or a plan")
    .addHelpText("after", examples("draftsync state show drafts/48213/product_files/9900011"))
    .action((address: string, flags: StateFlags) => runShow(cli, address, flags));
  defineEdits(state, cli);
  defineRebind(state, cli);
  withWorkspaceFlags(state.command("export"))
    .summary("export the ledger as JSON")
    .description(
      "Writes the whole ledger to standard output, for `state import`: as a backup, or to move it. Contains no key.",
    )
    .addHelpText("after", examples("draftsync state export > ledger-backup.json"))
    .action((flags: StateFlags) => runExport(cli, flags));
  withWriterFlags(state.command("import"))
    .summary("import an exported ledger")
    .description(
      "Copies an exported ledger into a new one, in SQLite or PostgreSQL. Use only one of the two from then on.",
    )
    .argument("<file>", "file that `state export` wrote; - for standard input")
    .addHelpText(
      "after",
      examples(
        "draftsync state import ledger-backup.json",
        "draftsync state export | draftsync state import - --state postgres://team@db.example.com/draftsync",
      ),
    )
    .action((file: string, flags: WriterFlags) => runImport(cli, file, flags));
  defineRecover(state, cli);
};

async function runList(cli: Cli, within: string | undefined, flags: StateFlags): Promise<void> {
  const recorded = await readLedger(cli, flags, (ledger) => ledger.load());
  const entries = listEntries(recorded);
  const scopes = within === undefined ? undefined : readScopes(within, recorded);
  const isShown = (address: string) => scopes?.some((scope) => isInScope(address, scope)) ?? true;
  const shown = entries.filter(({ address }) => isShown(address));
  if (flags.json) return printJson(cli, { format_version: 1, entries: shown });
  cli.terminal.out(formatEntryList(shown, cli.terminal.paintOut, cli.terminal.columns));
  if (shown.length === 0)
    cli.terminal.err(
      scopes === undefined ? "The ledger has no resources.\n" : `The ledger has no resource at ${within}.\n`,
    );
}

async function runShow(cli: Cli, address: string, flags: StateFlags): Promise<void> {
  const { viewOperation } = await import("../../report/history-view.ts");
  const { shown, operations } = await readLedger(cli, flags, async (ledger) => {
    const recorded = await ledger.load();
    return {
      shown: listEntries(recorded).filter((entry) => entry.address === address),
      operations: (await ledger.operations({ address })).map((each) => viewOperation(each, recorded)),
    };
  });
  if (shown.length === 0 && operations.length === 0) {
    throw new CliError(`the ledger has no resource at ${address}`, {
      code: "address-unknown",
      hint: "`draftsync state list` lists all addresses.",
    });
  }
  if (flags.json) return printJson(cli, { format_version: 1, entries: shown, operations });
  const { formatOperations } = await import("../../report/history-text.ts");
  const paint = cli.terminal.paintOut;
  const parts = shown.map((entry) => formatEntry(entry, paint));
  if (shown.length === 0) parts.push("The ledger has no record any more.");
  if (operations.length > 0) parts.push(formatOperations(operations, paint, "date").join("\n"));
  cli.terminal.out(`${parts.join("\n\n")}\n`);
}

async function runExport(cli: Cli, flags: StateFlags): Promise<void> {
  const { exported, lock } = await readLedger(cli, flags, async (ledger) => ({
    lock: await ledger.heldLock(),
    exported: await ledger.export(),
  }));
  if (lock !== undefined && isKept(lock)) {
    const text =
      `${describeHolder(lock)} is running: what it records from now on is not in this export. ` +
      "To move the ledger, export it when that has ended.";
    cli.terminal.log({ level: "warning", text: `warning: ${text}\n`, code: "run-under-way" });
  }
  printJson(cli, exportDocument(exported));
}

async function runImport(cli: Cli, file: string, flags: WriterFlags): Promise<void> {
  const exported = parseExport(await readExport(cli, file), file === "-" ? "standard input" : file);
  await inWorkspace(cli, flags, async (workspace) => {
    // A recovery log of the imported ledger is replayed after the import. If all logs are of other ledgers, they prevent it.
    const logs = new RecoveryLog(workspace.config).read();
    const recovers = logs.some(({ records }) => records.every(({ lineage }) => lineage === exported.lineage));
    const lock = { command: "state import", recovers, waitMs: flags.lockTimeout };
    await withLock(workspace, lock, async () => (await workspace.ledger()).import(exported));
    const { attachments, publications, operations } = exported;
    cli.terminal.err(
      `Imported: ${plural(attachments.length, "attachment")}, ${plural(publications.length, "publication")}, ` +
        `${plural(operations.length, "operation")}.\n`,
    );
  });
}

async function readExport(cli: Cli, file: string): Promise<string> {
  if (file === "-") return cli.terminal.readAll();
  const bytes = await readGiven(resolve(cli.cwd, file), {
    what: file,
    code: "import-unreadable",
    hint: "Name the file that `draftsync state export` was written to, or - for standard input.",
  });
  return bytes.toString("utf8");
}
