import { earlierProductEffect, type Resolution, resolutionOfAll } from "../../apply/resolution.ts";
import { draftIdOf, normalAddress, parseAddress, parseId } from "../../model/address.ts";
import {
  addressOfProduct,
  makesProduct,
  type Recorded,
  type RecordedOperation,
  targetOf,
} from "../../model/recorded.ts";
import { isoTime, minuteText } from "../../model/time.ts";
import { leftToSettle } from "../../model/unsettled.ts";
import { doubtsToSettle } from "../../plan/doubts.ts";
import { resolveTargets } from "../../plan/target-names.ts";
import { formatSeconds } from "../../report/quantities.ts";
import { sanitizeLine } from "../../report/sanitize-text.ts";
import { type Cli, type DefineCommand, examples, type WriterFlags, withWriterFlags } from "../cli.ts";
import { CliError } from "../runtime/cli-error.ts";
import { parseProductId, recordEdit, warnOfCopies } from "../runtime/ledger-access.ts";
import { loadDesired } from "../runtime/manifests.ts";
import { expectDone } from "../runtime/single-call.ts";
import { inLockedWorkspace } from "../runtime/with-lock.ts";
import type { Workspace } from "../runtime/workspace.ts";

interface ResolveFlags extends WriterFlags {
  readonly productId?: number;
  readonly done?: boolean;
  readonly notDone?: boolean;
  readonly attached?: boolean;
  readonly notAttached?: boolean;
}

const command = "resolve";

/** `draftsync resolve` */
export const defineResolve: DefineCommand = (program, cli) => {
  withWriterFlags(program.command(command))
    .summary("settle a call that is in doubt")
    .description(
      "Records whether a call took effect whose response was lost. Check the service first: only a product id is verified. " +
        "A call that did not take effect is planned again. With --product-id, it also records a publication or duplicate " +
        "that was made before this ledger, and with --not-done that a draft with files attached before it has no product.",
    )
    .argument(
      "<address>",
      "path of a file, or address of a product or duplicate, that the plan marks with `?`; address of a product made before this ledger; or id of one of several calls",
    )
    .option("--product-id <id>", "it took effect and created this product", parseProductId)
    .option("--done", "it took effect; of a publish: into the product that the draft has already")
    .option("--not-done", "it did not take effect")
    .option("--attached", "the file is attached, whichever calls about it took effect")
    .option("--not-attached", "the file is not attached")
    .addHelpText(
      "after",
      examples(
        "draftsync resolve drafts/48213/product --product-id 771200",
        "draftsync resolve drafts/48213/product --not-done",
        "draftsync resolve drafts/48213/product_files/9900011 --done",
        "draftsync resolve drafts/48213/product_files/9900011 --attached",
      ),
    )
    .action((address: string, flags: ResolveFlags) =>
      inLockedWorkspace(cli, { flags, command }, (workspace) => resolveLocked(workspace, address, flags)),
    );
};

async function resolveLocked(workspace: Workspace, given: string, flags: ResolveFlags): Promise<void> {
  const { cli } = workspace;
  const ledger = await workspace.ledger();
  const recorded = await ledger.load();
  const doubts = doubtsToSettle(recorded);
  const address = addressIn(given, doubts, recorded);
  const operations = doubts.get(address) ?? [];
  const [operation] = operations;
  const flagged = readFlags(flags);
  if (operation === undefined) return recordEarlier(workspace, address, flagged, recorded);
  const { kind, intent, runId } = operation;
  const draftId = kind === "publish" ? intent.draftId : undefined;
  const kept = keptProduct(draftId, recorded);
  const said = flagged ?? (await ask(cli, operation));
  const resolution = withKeptProduct(said, kept);
  // What else was sent about a file that is attached may still change it.
  if (resolution.type === "not_done" || targetOf(operation) !== undefined)
    await assertSettled(operations, workspace);
  // All effects are computed, and the product is read, before the first effect is recorded.
  const effects = resolutionOfAll(operations, resolution, { ...recorded, now: await ledger.now() });
  let isUnproven = false;
  if (resolution.type === "product") {
    const copied = kind === "duplicate" ? intent.productId : undefined;
    if (said.type !== "done") assertUnrecorded(resolution.productId, recorded, { address, kept, copied });
    isUnproven = !(await checkProduct(workspace, resolution.productId, draftId));
  }
  // A saved plan goes on after its own publication; what follows from a file settled by a person is for a new plan.
  await recordEdit(ledger, command, effects, targetOf(operation) === undefined ? { runId } : {});
  const outcome =
    resolution === said ? describe(said, operation) : `it took effect, and kept product ${kept}`;
  const isKept = effects.some(({ type }) => type !== "settled") || resolution.type !== "product";
  say(workspace, `${address} is settled: ${outcome}${isKept ? "" : ", which the ledger does not keep"}`);
  if (isUnproven && resolution.type === "product") warnOfDraft(cli, resolution.productId);
}

/**
 * What `given` names: an address, a file's path or the id of a call, or a draft in which one product is in doubt. Throws
 * {@link CliError} for an entry's name, for a draft with files in doubt, and for several calls that may each have made a product.
 */
function addressIn(given: string, doubts: ReturnType<typeof doubtsToSettle>, recorded: Recorded): string {
  const address = normalAddress(given);
  // A pattern could settle more than a person has checked.
  if (doubts.has(address) || /[*?]/.test(given)) return address;
  const isFile = parseAddress(address)?.type === "attachment";
  const drafts = isFile
    ? [`drafts/${draftIdOf(address)}`]
    : resolveTargets([given], { drafts: [], duplicates: [] }, recorded);
  const named = [...doubts].flatMap(([name, [operation]]) => {
    if (operation === undefined || (isFile && targetOf(operation) === undefined)) return [];
    const { id, address: of } = operation;
    const isMeant = [id, of].includes(address) || drafts.includes(`drafts/${draftIdOf(of)}`);
    return isMeant ? [{ name, operation }] : [];
  });
  const [only] = named;
  if (only === undefined) return address;
  if (named.length === 1 && targetOf(only.operation) === undefined) return only.name;
  const calls = named.slice(0, 5).map(({ name, operation }) => `${name} (${callText(operation)})`);
  throw new CliError(`${given} does not say which call is meant; nothing was settled`, {
    code: "resolution-needed",
    hint: `In doubt: ${calls.join(", ")}. Settle one at a time.`,
  });
}

/** What distinguishes a call from others about the same file or product. */
function callText({ method, path, startedAt, intent: { revision }, kind }: RecordedOperation): string {
  const what = revision === undefined ? `${method} ${path}` : `revision ${revision}`;
  return makesProduct(kind) ? `${what}, sent at ${isoTime(startedAt)}` : method;
}

/** A call that was lost a moment ago may still arrive at the service, after a person has looked there. */
async function assertSettled(
  operations: readonly RecordedOperation[],
  { config, ledger: openLedger }: Workspace,
): Promise<void> {
  const ledger = await openLedger();
  const now = await ledger.now();
  const isAhead = operations.some(({ startedAt, finishedAt = startedAt }) => finishedAt > now);
  // The clock of the ledger was set back since.
  if (isAhead) await ledger.redate(operations.map(({ id }) => id));
  const leftMs = leftToSettle(operations, { now, settleDelayMs: config.service.profile.settle_delay });
  if (leftMs === 0) return;
  const left = formatSeconds(Math.ceil(leftMs / 1000));
  throw new CliError(`the call may still take effect within ${left}; nothing was settled`, {
    code: "resolution-too-early",
    hint: "Check the service after that (service.profile.settle_delay), and then run it again.",
  });
}

/** Records what a person found out about the time before this ledger: no operation at the address is in doubt. */
async function recordEarlier(
  workspace: Workspace,
  address: string,
  resolution: Resolution | undefined,
  recorded: Recorded,
): Promise<void> {
  const { cli, config } = workspace;
  const parsed = parseAddress(address);
  const isMarked = parsed?.type === "publication" && recorded.maybePublished.has(parsed.draftId);
  if (isMarked && resolution?.type === "not_done") {
    const { draftId } = parsed;
    await recordEdit(await workspace.ledger(), command, [{ type: "maybe_published_settled", draftId }]);
    return say(workspace, `${address} is settled: draft ${draftId} has no product that is not recorded`);
  }
  const kept = isMarked ? keptProduct(parsed.draftId, recorded) : undefined;
  const said = resolution === undefined ? undefined : withKeptProduct(resolution, kept);
  if (isMarked && said?.type !== "product") {
    throw new CliError(
      `it must be said whether draft ${parsed.draftId} is published: --product-id ID or --not-done`,
      {
        code: "resolution-needed",
        hint: "Look the draft up at the service first; `draftsync resolve --help` has examples.",
      },
    );
  }
  if (said?.type !== "product") {
    throw new CliError(`nothing is in doubt at ${address}`, {
      code: "nothing-in-doubt",
      hint: "`draftsync plan` marks operations in doubt with `?`. To record a product made before this ledger: --product-id ID.",
    });
  }
  const { productId } = said;
  if (addressOfProduct(productId, recorded) === address && !isMarked) {
    return say(workspace, `${address} is recorded as product ${productId} already`);
  }
  const { desired } = await loadDesired(cli, config, "stat");
  const isKept = resolution?.type === "done";
  if (!isKept) assertUnrecorded(productId, recorded, { address, kept });
  const ledger = await workspace.ledger();
  const provenance = { by: "operator", at: await ledger.now() } as const;
  const effect = earlierProductEffect({ address, productId, desired, recorded, provenance });
  const draftId = effect.type === "published" ? effect.draftId : undefined;
  const isProven = await checkProduct(workspace, productId, draftId);
  // It is that of the revision which the manifest asks for.
  const settles = draftId === undefined ? [] : ([{ type: "maybe_published_settled", draftId }] as const);
  await recordEdit(ledger, command, [effect, ...settles]);
  const revision = effect.type === "published" ? ` at revision ${effect.revision}` : "";
  const before = isKept ? "" : ", made before this ledger";
  say(workspace, `${address} is recorded as product ${productId}${revision}${before}`);
  if (!isProven) warnOfDraft(cli, productId);
  warnOfCopies(cli, [effect], { desired, recorded });
}

/** The command may have been printed for another workspace. */
function say({ cli, owner: { workspace, origin } }: Workspace, text: string): void {
  cli.terminal.err(`${sanitizeLine(text)} (workspace ${workspace} at ${origin}).\n`);
}

function warnOfDraft({ terminal }: Cli, productId: number): void {
  terminal.log({
    level: "warning",
    text:
      `${terminal.paintErr("warning", "warning:")} product ${productId} names no draft from which it was published; ` +
      "compare it with the draft at the service\n",
    code: "product-without-draft",
  });
}

/** What the flags say; `undefined` when they say nothing. */
function readFlags(flags: ResolveFlags): Resolution | undefined {
  const { productId, done, notDone, attached, notAttached } = flags;
  const said: Resolution[] = [
    ...(productId === undefined ? [] : [{ type: "product", productId } as const]),
    ...(done ? [{ type: "done" } as const] : []),
    ...(notDone ? [{ type: "not_done" } as const] : []),
    ...(attached ? [{ type: "attached" } as const] : []),
    ...(notAttached ? [{ type: "not_attached" } as const] : []),
  ];
  if (said.length <= 1) return said[0];
  throw new CliError("--product-id, --done, --not-done, --attached and --not-attached exclude each other", {
    code: "invalid-flag",
    hint: "Pass one of them.",
  });
}

async function ask({ terminal, signal }: Cli, operation: RecordedOperation): Promise<Resolution> {
  if (!terminal.interactive) {
    const answers = targetOf(operation) === undefined ? "" : ", --attached, --not-attached";
    throw new CliError(`the result is missing: pass --product-id ID, --done${answers} or --not-done`, {
      code: "resolution-needed",
      hint: "`draftsync resolve --help` has examples.",
    });
  }
  const product = makesProduct(operation.kind);
  const request = sanitizeLine(`${operation.method} ${operation.path}`);
  const text = `${request} was sent at ${minuteText(isoTime(operation.startedAt))}.\n`;
  terminal.log({ level: "info", text, isResult: true });
  const answer = await terminal.ask(
    product ? "Id of the created product, or `no` if there is none: " : "Did it take effect? [yes/no]: ",
    signal,
  );
  const word = answer?.trim() ?? "";
  if (word === "no") return { type: "not_done" };
  const productId = product ? parseId(word) : undefined;
  if (productId !== undefined) return { type: "product", productId };
  if (!product && word === "yes") return { type: "done" };
  throw new CliError("nothing was settled", {
    code: "resolution-needed",
    hint: product ? "Answer with a product id, or `no`." : "Answer `yes` or `no`.",
  });
}

/** `--done` of a draft that was published again says that the service kept its product. */
function withKeptProduct(said: Resolution, kept: number | undefined): Resolution {
  return said.type === "done" && kept !== undefined ? { type: "product", productId: kept } : said;
}

/** The product of a draft that is published again; none where an earlier revision has had another one. */
function keptProduct(draftId: number | undefined, recorded: Recorded): number | undefined {
  const own = recorded.publications.filter((publication) => publication.draftId === draftId);
  const [product, ...others] = new Set(own.map(({ productId }) => productId));
  return others.length === 0 ? product : undefined;
}

interface Whereabouts {
  readonly address: string;
  /** The product that the draft has already. */
  readonly kept: number | undefined;
  /** The product that was to be copied. */
  readonly copied?: number | undefined;
}

/** A product comes from one publication, at one revision, or from one duplicate; a copy is another product than its source. */
function assertUnrecorded(
  productId: number,
  recorded: Recorded,
  { address, kept, copied }: Whereabouts,
): void {
  const isSource = copied === productId;
  const recordedAt = addressOfProduct(productId, recorded);
  if (recordedAt === undefined && !isSource) return;
  const known =
    recordedAt === undefined ? "is what was to be copied" : `is already recorded for ${recordedAt}`;
  throw new CliError(`product ${productId} ${known}; nothing was settled`, {
    code: "product-recorded-elsewhere",
    hint:
      kept === productId
        ? `If the service publishes a draft into the same product again, and has: draftsync resolve ${address} --done. If it has not: draftsync resolve ${address} --not-done`
        : "Check the product id at the service again.",
  });
}

/**
 * The product must exist, which binds the ledger. If the response names its draft, that must be `draftId`. Returns whether it
 * does, or no draft is asked for.
 */
async function checkProduct(
  workspace: Workspace,
  productId: number,
  draftId: number | undefined,
): Promise<boolean> {
  const { draftNamedBy } = await import("../../service/documents.ts");
  const service = await workspace.connect(() => {});
  const read = await service.getProduct(productId, undefined, workspace.cli.signal);
  const hint = "Look up the product id at the service again.";
  const goneHint = `${hint} If the product was made and is gone: remove it from the manifests unless it is to be made again, and then use --not-done.`;
  const draft = draftNamedBy(
    expectDone(read, (failure) => (failure.code === "gone" ? { ...failure, hint: goneHint } : failure)),
  );
  if (draftId === undefined || draft === "" || draft === String(draftId)) {
    await (await workspace.ledger()).bind(workspace.owner);
    return draftId === undefined || draft !== "";
  }
  throw new CliError(
    `product ${productId} belongs to draft ${draft.slice(0, 50)}, not to draft ${draftId}; nothing was settled`,
    { code: "product-of-another-draft", hint },
  );
}

/** Names the call: of several about one file, a person may have meant another. */
function describe(resolution: Resolution, { method }: RecordedOperation): string {
  switch (resolution.type) {
    case "product":
      return `it created product ${resolution.productId}`;
    case "done":
      return `the ${method} took effect`;
    case "not_done":
      return `the ${method} did not take effect, and is planned again if a manifest asks for it`;
    case "attached":
      return "the file is attached";
    case "not_attached":
      return "the file is not attached";
  }
}
