import type { Command } from "commander";
import { renamedUploadEffects } from "../../apply/uploads.ts";
import type { Address } from "../../model/address.ts";
import {
  formatAddress,
  normalAddress,
  parseAddress,
  publicationAddress,
  quoteArgument,
} from "../../model/address.ts";
import { draftOf, resolveAnswers } from "../../model/change.ts";
import type { LedgerEffect } from "../../model/ports.ts";
import {
  fileResourceOf,
  type Recorded,
  type RecordedDuplicate,
  type RecordedOperation,
} from "../../model/recorded.ts";
import { isInScope } from "../../model/scope.ts";
import { doubtsByAddress } from "../../plan/doubts.ts";
import { assertOwner } from "../../plan/ownership.ts";
import { uploadAddress } from "../../report/state-text.ts";
import { type Cli, examples, type WriterFlags, withWriterFlags } from "../cli.ts";
import { approve } from "../runtime/approval.ts";
import { CliError } from "../runtime/cli-error.ts";
import { exitCode } from "../runtime/exit-code.ts";
import { recordEdit } from "../runtime/ledger-access.ts";
import { inLockedWorkspace } from "../runtime/with-lock.ts";

interface EditFlags extends WriterFlags {
  readonly autoApprove?: boolean;
}

/** `draftsync state rm` and `draftsync state mv`: change what is recorded, and nothing at the service. */
export function defineEdits(state: Command, cli: Cli): void {
  withWriterFlags(state.command("rm"))
    .summary("remove records from the ledger; changes nothing at the service")
    .description(
      "Removes attachments and duplicates from the ledger, or a draft with all its files, so that draftsync no longer " +
        "manages them. Everything stays attached at the service. If a manifest still declares a file, the next apply " +
        "finds it attached and adopts it. Of an entry that waits for a file, the values that no manifest manages are forgotten. A file whose upload is removed is uploaded again when it is attached next. Publications " +
        "stay recorded, so that none is repeated.",
    )
    .argument("<address...>", "addresses from `state list`, or drafts")
    .option("--auto-approve", "do not ask for approval; required without a terminal")
    .addHelpText(
      "after",
      examples("draftsync state rm drafts/48213/product_files/9900011", "draftsync state rm drafts/48213"),
    )
    .action((addresses: string[], flags: EditFlags) => runRemove(cli, addresses, flags));
  withWriterFlags(state.command("mv"))
    .summary("move a record to another address")
    .description(
      "Moves a record to another address, for a file that the manifests now identify in another way, such as by its source " +
        "instead of its id, or for a duplicate that was renamed. Draft and list stay the same. If a record of a file has the new " +
        "address already, that one moves to its file id.",
    )
    .argument("<from>", "its current address")
    .argument("<to>", "its new address")
    .addHelpText(
      "after",
      examples(
        "draftsync state mv drafts/48213/product_files/9900011 drafts/48213/product_files/source:files/dragon.blend",
        "draftsync state mv duplicates/winter duplicates/dragon-winter",
      ),
    )
    .action((from: string, to: string, flags: EditFlags) => runMove(cli, { from, to, flags }));
}

async function runRemove(cli: Cli, addresses: readonly string[], flags: EditFlags): Promise<void> {
  await edit(cli, { flags, command: "state rm" }, async (recorded) => {
    const effects = addresses.flatMap((address) => removalOf(address, recorded));
    const approved = await approve(cli, {
      given: flags.autoApprove,
      question: `Remove ${addresses.length === 1 ? addresses[0] : `these ${addresses.length} records`} from the ledger? Nothing changes at the service.`,
      to: "to remove records",
      declined: "Nothing was removed.",
    });
    const removed = `Removed from the ledger: ${addresses.join(", ")}. Nothing changed at the service.`;
    const published = addresses.flatMap((address) => describeProducts(address, recorded));
    if (approved) return { effects, summary: [removed, ...published].join("\n") };
    cli.end(cli.signal.aborted ? exitCode.interrupted : exitCode.error);
    return undefined;
  });
}

/** The products of what leaves the ledger: they would be made again, for a draft by another ledger that takes it over. */
function describeProducts(address: string, { publications, duplicates }: Recorded): string[] {
  const parsed = parseAddress(normalAddress(address));
  if (parsed?.type === "duplicate") {
    const { productId } = duplicates.find(({ name }) => name === parsed.name) ?? {};
    return [
      `It was product ${productId}. While a manifest declares this duplicate, the next apply copies the product again. To record it again instead: draftsync resolve ${quoteArgument(formatAddress(parsed))} --product-id ${productId}`,
    ];
  }
  if (parsed?.type !== "draft") return [];
  return publications
    .filter(({ draftId }) => draftId === parsed.draftId)
    .map(
      ({ productId }) =>
        `It is published as product ${productId}. Where another ledger takes it over, run there: draftsync resolve ${publicationAddress(parsed.draftId)} --product-id ${productId}`,
    );
}

function removalOf(given: string, recorded: Recorded): readonly LedgerEffect[] {
  const address = normalAddress(given);
  const { attachments, duplicates, publications } = recorded;
  const parsed = parseAddress(address);
  if (parsed?.type === "draft") return draftRemoval(parsed, recorded);
  const [operation] = doubtsByAddress(recorded).get(address) ?? [];
  if (operation !== undefined) throw refusal(`${address} is in doubt`, settleFirst(operation));
  const attachment = attachments.find((each) => each.address === address);
  if (attachment !== undefined) return [{ type: "detached", target: attachment }];
  if (recorded.keptValues.has(address)) return [{ type: "values_forgotten", address }];
  if (parsed?.type === "duplicate" && duplicates.some(({ name }) => name === parsed.name)) {
    return [{ type: "duplicate_forgotten", name: parsed.name }];
  }
  const uploads = recorded.uploads.filter((upload) => uploadAddress(upload) === given);
  if (uploads.length > 0)
    return uploads.map(({ uploadId }) => ({ type: "upload_ended", uploadId, status: "failed" }));
  if (publications.some(({ draftId }) => address === publicationAddress(draftId))) {
    throw refusal(
      `${address} is published; without its record the next apply would publish it again`,
      "To publish again, raise `publish.revision` in the manifest.",
    );
  }
  throw unknown(address);
}

/** Every file of the draft and its protection. */
function draftRemoval(
  draft: Extract<Address, { type: "draft" }>,
  recorded: Recorded,
): readonly LedgerEffect[] {
  const { attachments, keptValues, protectedDrafts } = recorded;
  const { draftId } = draft;
  const open = [...doubtsByAddress(recorded).values()]
    .flat()
    .find(({ address }) => isInScope(address, draft));
  if (open !== undefined) {
    throw refusal(`${open.address} is in doubt`, settleFirst(open));
  }
  const files = attachments.filter((attachment) => attachment.draftId === draftId);
  const waiting = [...keptValues.keys()].filter((address) => draftOf({ address }) === draftId);
  if (files.length === 0) throw unknown(formatAddress(draft));
  return [
    ...files.map((target): LedgerEffect => ({ type: "detached", target })),
    ...waiting.map((address): LedgerEffect => ({ type: "values_forgotten", address })),
    ...(protectedDrafts.has(draftId) ? [{ type: "protection", draftId, protect: false } as const] : []),
  ];
}

async function runMove(
  cli: Cli,
  { from, to, flags }: { readonly from: string; readonly to: string; readonly flags: EditFlags },
): Promise<void> {
  await edit(cli, { flags, command: "state mv" }, async (recorded) => {
    const copy = copyAt(from, recorded);
    if (copy !== undefined) return renamed(copy, to, recorded);
    const attachment = recorded.attachments.find(({ address }) => address === from);
    if (attachment === undefined) throw unmovable(from, recorded);
    const doubts = doubtsByAddress(recorded);
    if (doubts.has(from) || doubts.has(to)) {
      throw refusal(`${from} or ${to} is in doubt`, "Settle it first: `draftsync plan` marks it with `?`.");
    }
    const parsed = parseAddress(to);
    const isSource = parsed?.type === "attachment" && parsed.ref.by === "source";
    const file = { ...attachment, ...(isSource ? { source: parsed.ref.source } : {}) };
    return {
      effects: [
        { type: "readdressed", target: attachment, address: to },
        ...renamedUploadEffects(file, attachment.fileId, recorded.uploads),
      ],
      summary: `Moved ${from} to ${to} in the ledger.`,
    };
  });
}

function copyAt(address: string, { duplicates }: Recorded): RecordedDuplicate | undefined {
  const parsed = parseAddress(normalAddress(address));
  return parsed?.type === "duplicate" ? duplicates.find(({ name }) => name === parsed.name) : undefined;
}

/** A duplicate whose entry has another name by now. */
function renamed(copy: RecordedDuplicate, to: string, recorded: Recorded): Edit {
  const parsed = parseAddress(normalAddress(to));
  const isTaken = copyAt(to, recorded) !== undefined || doubtsByAddress(recorded).has(normalAddress(to));
  if (parsed?.type !== "duplicate" || isTaken) {
    throw refusal(
      `${to} is not a free name for a duplicate`,
      "Write `duplicates/NAME`, as the manifest has it.",
    );
  }
  return {
    effects: [
      { type: "duplicate_forgotten", name: copy.name },
      { ...copy, type: "duplicated", name: parsed.name },
    ],
    summary: `Renamed duplicates/${copy.name} to ${formatAddress(parsed)} in the ledger.`,
  };
}

/** Only files and duplicates have addresses of their own choice. */
function unmovable(from: string, { publications }: Recorded): CliError {
  const parsed = parseAddress(normalAddress(from));
  if (parsed?.type === "publication" && publications.some(({ draftId }) => draftId === parsed.draftId))
    return refusal(`${from} is the product of its draft and cannot be moved`, "Nothing needs to be done.");
  return unknown(from);
}

interface Edit {
  readonly effects: readonly LedgerEffect[];
  /** What is printed once it is recorded. */
  readonly summary: string;
}

/** Under the lock, and in the history as a run without calls. */
async function edit(
  cli: Cli,
  options: { readonly flags: EditFlags; readonly command: string },
  decide: (recorded: Recorded) => Promise<Edit | undefined>,
): Promise<void> {
  await inLockedWorkspace(cli, options, async (workspace) => {
    const ledger = await workspace.ledger();
    const decided = await decide(await ledger.load());
    if (decided === undefined) return;
    const { effects, summary } = decided;
    await recordEdit(ledger, options.command, effects, { done: effects.length });
    cli.terminal.err(`${summary}\n`);
  });
}

function settleFirst(operation: RecordedOperation): string {
  const { address, kind } = operation;
  const named = quoteArgument(fileResourceOf(operation) ?? address);
  return `Settle it first: draftsync resolve ${named} ${resolveAnswers(kind)}`;
}

function refusal(message: string, hint: string): CliError {
  return new CliError(message, { code: "not-editable", hint });
}

function unknown(address: string): CliError {
  return new CliError(`the ledger has no resource at ${address}`, {
    code: "address-unknown",
    hint: "`draftsync state list` lists all addresses.",
  });
}

/** `draftsync state rebind` */
export function defineRebind(state: Command, cli: Cli): void {
  withWriterFlags(state.command("rebind"))
    .summary("move the ledger to a new address of the same service")
    .description(
      "Binds the ledger to the address in the config or --base-url. Only for a service whose address changed: its drafts, " +
        "files and products keep their ids. Sends nothing. Saved plans become stale.",
    )
    .option("--auto-approve", "do not ask for approval; required without a terminal")
    .addHelpText("after", examples("draftsync state rebind --base-url https://api.new.example.com"))
    .action((flags: EditFlags) => runRebind(cli, flags));
}

async function runRebind(cli: Cli, flags: EditFlags): Promise<void> {
  const command = "state rebind";
  // What waits to be replayed is of the former address.
  const lock = { flags, command, recovers: true };
  await inLockedWorkspace(cli, lock, async ({ config, owner, ledger: open }) => {
    const ledger = await open();
    const { serviceOrigin: from, ...bound } = await ledger.owner();
    if (from === undefined) throw notRebindable("the ledger is not bound to a service yet");
    assertOwner(bound, owner);
    if (from === owner.origin) return cli.terminal.err(`The ledger is bound to ${from} already.\n`);
    if (config.service.baseUrl === undefined || from === "sandbox")
      throw notRebindable(`the ledger of ${from} cannot be moved to ${owner.origin}`);
    const approved = await approve(cli, {
      given: flags.autoApprove,
      question: `Move the ledger from ${from} to ${owner.origin}? Both must be the same service.`,
      to: "to move the ledger",
      declined: "Not moved.",
    });
    if (!approved) return cli.end(cli.signal.aborted ? exitCode.interrupted : exitCode.error);
    await ledger.rebind(owner);
    await recordEdit(ledger, command, [], { done: 0 });
    cli.terminal.err(`The ledger is bound to ${owner.origin} now.\n`);
  });
}

function notRebindable(message: string): CliError {
  return new CliError(`${message}; nothing was changed`, {
    code: "not-rebindable",
    hint: "The first response accepted from a service binds the ledger; only the address of that service may change.",
  });
}
