import { readFile, realpath } from "node:fs/promises";
import { resolve } from "node:path";
import { draftIdOf, formatAddress, parseAddress } from "../../model/address.ts";
import type { Desired, DesiredAttachment, DesiredDraft } from "../../model/desired.ts";
import { attachmentsByAddress } from "../../model/desired.ts";
import type { LedgerEffect } from "../../model/ports.ts";
import type { Recorded, RecordedAttachment, RecordedOperation } from "../../model/recorded.ts";
import { readIfThere } from "../../model/replace-file.ts";
import { fileKinds, fileResource } from "../../model/resource.ts";
import { indexFiles } from "../../refresh/file-index.ts";
import type { Cli } from "../cli.ts";
import type { Config } from "../config.ts";
import { writeAll } from "../init/files.ts";
import { CliError, DiagnosticsError } from "./cli-error.ts";
import type { ImportEnvironment, ImportTargets } from "./import-targets.ts";
import { loadDesired, readManifests } from "./manifests.ts";
import { pathInWorkspace } from "./workspace.ts";

/** What the manifests declare: nothing before the first of them is written. */
export interface Declared {
  readonly desired: Desired;
  readonly files: readonly string[];
}

/** Reads the manifests that `import --write` adds to. Throws {@link DiagnosticsError}. */
export async function loadDeclared(cli: Pick<Cli, "env" | "signal">, config: Config): Promise<Declared> {
  const loaded = await readManifests(cli, config, "hash");
  if (loaded.ok) return loaded;
  const errors = loaded.diagnostics.filter(({ severity }) => severity === "error");
  if (errors.some(({ code }) => code !== "no-manifests")) throw new DiagnosticsError(loaded.diagnostics);
  return { desired: { drafts: [], duplicates: [] }, files: loaded.files };
}

/**
 * The manifest of `import --write`: its path below the workspace. Throws {@link CliError} `invalid-flag` outside of it, and
 * for a file that is there and is no manifest, such as the config.
 */
export async function manifestToWrite(
  cli: Pick<Cli, "cwd">,
  {
    config,
    files,
    file,
  }: { readonly config: Config; readonly files: readonly string[]; readonly file: string },
): Promise<string> {
  const path = pathInWorkspace(cli, config, file);
  const refused = (problem: string) =>
    new CliError(`--write must name a YAML file ${problem}`, {
      code: "invalid-flag",
      hint: "Use --write manifests/imported.yaml.",
    });
  if (path.startsWith("../") || !/\.ya?ml$/.test(path)) throw refused(`of the workspace, not ${file}`);
  const real = await realpath(resolve(config.root, path)).catch(() => undefined);
  if (real === undefined || files.includes(path)) return path;
  const known = files.some((each) => resolve(config.root, each) === real);
  if (!known) throw refused(`of the manifests, and no pattern of \`manifests\` matches ${file}`);
  return path;
}

/** Throws {@link CliError} `invalid-flag` for a resource that is to be written, of a draft that another manifest declares. */
export function assertWritable(manifest: string, { targets }: ImportTargets, { drafts }: Desired): void {
  const declared = new Map(drafts.map(({ draftId, file }) => [draftId, file]));
  for (const { address } of targets) {
    const file = declared.get(draftIdOf(address) ?? 0);
    if (file === undefined || file === manifest) continue;
    throw new CliError(`draft ${draftIdOf(address)} is declared in ${file}, not in ${manifest}`, {
      code: "invalid-flag",
      hint: `Use --write ${file} for it.`,
    });
  }
}

/**
 * Throws {@link CliError} `import-target-invalid` for a file that a manifest declares already, under another name: that of its
 * record, or of a call in doubt about it.
 */
export function assertNotDeclared(
  { targets }: ImportTargets,
  { desired, recorded }: ImportEnvironment,
): void {
  const declared = attachmentsByAddress(desired);
  const { records, doubts } = indexFiles(recorded);
  for (const target of targets) {
    if (target.type !== "attachment" || declared.has(target.address)) continue;
    const file = fileResource(target.target);
    const known = [records.get(file), ...(doubts.get(file) ?? [])];
    const name = known.map((each) => each?.address ?? "").find((address) => declared.has(address));
    if (name === undefined) continue;
    throw new CliError(`${target.address} is declared already, as ${name}`, {
      code: "import-target-invalid",
      hint: "Leave it out: a second entry would keep the file attached when the first one gets a new content.",
    });
  }
}

/** Manifests in which each draft whose product is named is published: `import --write` adds that to them. */
export function withPublications(desired: Desired, words: readonly string[]): Desired {
  const named = words.flatMap((word) => {
    const address = parseAddress(word.split("=")[0] ?? "");
    return address?.type === "publication" ? [address.draftId] : [];
  });
  const publish = { revision: 1, position: 0 };
  const drafts = new Map(desired.drafts.map((draft) => [draft.draftId, draft]));
  for (const draftId of named) {
    const known = drafts.get(draftId) ?? {
      draftId,
      protect: false,
      managed: [],
      attachments: [],
      file: "",
      position: 0,
    };
    drafts.set(draftId, { publish, ...known });
  }
  return { ...desired, drafts: [...drafts.values()] };
}

/** What an import found, and what was known before. */
export interface Imported {
  readonly effects: readonly LedgerEffect[];
  readonly recorded: Recorded;
  readonly declared: Desired;
}

/**
 * The files and publications that were imported and that no manifest declares, as drafts of `file`. A list that no manifest has
 * gets the files that are recorded or in doubt in it, too: without them the next plans would delete them. A draft without a
 * document keeps its protection.
 */
export function importedDrafts(
  { effects, recorded, declared }: Imported,
  file: string,
): readonly DesiredDraft[] {
  const known = attachmentsByAddress(declared);
  const byId = new Map(declared.drafts.map((draft) => [draft.draftId, draft]));
  const products = new Map(recorded.publications.map((each) => [each.productId, each]));
  const drafts = new Map<
    number,
    { readonly attachments: Map<string, DesiredAttachment>; revision?: number }
  >();
  const draftOf = (draftId: number) => {
    const draft = drafts.get(draftId) ?? { attachments: new Map<string, DesiredAttachment>() };
    drafts.set(draftId, draft);
    return draft;
  };
  const add = ({
    address: text,
    attributes,
    draftId,
  }: Pick<RecordedAttachment, "address" | "attributes" | "draftId">) => {
    const address = parseAddress(text);
    if (address?.type !== "attachment" || known.has(text)) return;
    const { attachments } = draftOf(draftId);
    // What the import has read comes first.
    if (!attachments.has(text)) attachments.set(text, { address, attributes, file, position: 0, layout: {} });
  };
  for (const effect of effects) {
    if (effect.type === "attached") add(effect.attachment);
    const published = effect.type === "product_confirmed" ? products.get(effect.productId) : effect;
    if (published === undefined || !("revision" in published)) continue;
    if (byId.get(published.draftId)?.publish === undefined)
      draftOf(published.draftId).revision = published.revision;
  }
  const { doubts } = indexFiles(recorded);
  const isDetaching = (file: RecordedAttachment) =>
    doubts.get(fileResource(file))?.some(({ kind }) => kind === "detach");
  // Not what the next apply detaches, such as the old file of a replacement.
  const current = recorded.attachments.filter((file) => file.replacedBy === undefined && !isDetaching(file));
  const files = [...current, ...recorded.inDoubt.flatMap(maybeAttached)];
  for (const file of files) {
    const { draftId, kind } = file;
    const isNewList = !byId.get(draftId)?.managed.includes(kind);
    const added = drafts.get(draftId)?.attachments.values() ?? [];
    if (isNewList && [...added].some(({ address }) => address.kind === kind)) add(file);
  }
  return [...drafts].map(([draftId, { attachments, revision }]) => ({
    draftId,
    protect: recorded.protectedDrafts.has(draftId),
    managed: fileKinds.filter((kind) =>
      [...attachments.values()].some(({ address }) => address.kind === kind),
    ),
    attachments: [...attachments.values()],
    ...(revision === undefined ? {} : { publish: { revision, position: 0 } }),
    file,
    position: 0,
  }));
}

/** The file of an attach in doubt. */
function maybeAttached({ kind: operation, address, intent }: RecordedOperation) {
  const { draftId, fileKind: kind, attributes = {} } = intent;
  return operation === "attach" && draftId !== undefined && kind !== undefined
    ? [{ address, draftId, kind, attributes }]
    : [];
}

/** What is written, and what happens meanwhile. */
export interface WriteImportedOptions {
  readonly file: string;
  readonly drafts: readonly DesiredDraft[];
  /** Stores in the ledger what was imported. */
  readonly record: () => Promise<void>;
}

/**
 * Adds drafts to a manifest, or creates it. Undoes that when the manifests would not be valid, and not when the ledger
 * fails: what it has recorded all the same would be deleted. `publish` is added last: a run that is killed before must not
 * leave a publish of a product that the ledger does not have.
 */
export async function writeImported(
  cli: Pick<Cli, "env" | "signal" | "terminal">,
  config: Config,
  { file, drafts, record }: WriteImportedOptions,
): Promise<void> {
  const path = resolve(config.root, file);
  const before = (await readIfThere(path))?.toString("utf8") ?? "";
  const unpublished = drafts.map(({ publish: _none, ...draft }) => draft);
  await addTo(cli, { file, drafts }, before);
  const unpublishedText = await addTo(cli, { file, drafts: unpublished }, before);
  const undo = await writeAll(config.root, { [file]: unpublishedText });
  try {
    await assertDeclared(cli, config, { file, drafts });
  } catch (error) {
    await undo();
    throw error;
  }
  await record().catch((error: unknown) => {
    cli.terminal.err(`Wrote ${file}, but the ledger may lack it: then import the same again.\n`);
    throw error;
  });
  const published = drafts.filter(({ publish }) => publish !== undefined);
  if (published.length === 0) return;
  // An editor may have saved the manifest meanwhile.
  const now = await readFile(path, "utf8");
  const publishes = published.map((draft) => ({ ...draft, managed: [], attachments: [] }));
  await writeAll(config.root, { [file]: await addTo(cli, { file, drafts: publishes }, now) });
}

/** Throws {@link CliError} `manifest-not-extendable` if other values would change; prints the entries to add first. */
async function addTo(
  { terminal }: Pick<Cli, "terminal">,
  { file, drafts }: Pick<WriteImportedOptions, "file" | "drafts">,
  text: string,
): Promise<string> {
  const { addDrafts } = await import("../../manifest/format-draft.ts");
  const written = addDrafts(text, drafts);
  if (written !== undefined) return written;
  terminal.err(`Not in ${file} yet:\n\n${addDrafts("", drafts) ?? ""}\n`);
  throw new CliError(`${file} cannot be extended without changing other values of it; nothing was written`, {
    code: "manifest-not-extendable",
    hint: "Write it without anchors, aliases and folded texts (>), or add what is above yourself and import without --write.",
  });
}

/** Throws {@link CliError} `manifest-not-found` when the manifests do not contain the one that was written. */
async function assertDeclared(
  cli: Pick<Cli, "env" | "signal">,
  config: Config,
  { file, drafts }: Pick<WriteImportedOptions, "file" | "drafts">,
): Promise<void> {
  const { desired } = await loadDesired(cli, config, "stat");
  const declared = new Set(desired.drafts.map(({ draftId }) => draftId));
  const known = attachmentsByAddress(desired);
  const isThere = ({ draftId, attachments }: DesiredDraft) =>
    declared.has(draftId) && attachments.every(({ address }) => known.has(formatAddress(address)));
  if (drafts.every(isThere)) return;
  throw new CliError(`no pattern of \`manifests\` in draftsync.yaml matches ${file}; nothing was written`, {
    code: "manifest-not-found",
    hint: "Name a file below the folder of the manifests.",
  });
}
