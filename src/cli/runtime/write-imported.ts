import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { draftIdOf, parseAddress } from "../../model/address.ts";
import {
  attachmentsByAddress,
  type Desired,
  type DesiredAttachment,
  type DesiredDraft,
} from "../../model/desired.ts";
import { systemCodeOf } from "../../model/errors.ts";
import type { LedgerEffect } from "../../model/ports.ts";
import { fileKinds } from "../../model/resource.ts";
import type { Cli } from "../cli.ts";
import type { Config } from "../config.ts";
import { writeAll } from "../init/write.ts";
import { CliError } from "./cli-error.ts";
import type { ImportTargets } from "./import-targets.ts";
import { pathInWorkspace } from "./path-in-workspace.ts";

/** The manifest of `import --write`: its path below the workspace. Throws {@link CliError} `invalid-flag` outside of it. */
export function manifestToWrite(cli: Pick<Cli, "cwd">, config: Config, file: string): string {
  const path = pathInWorkspace(cli, config, file);
  if (!path.startsWith("../") && /\.ya?ml$/.test(path)) return path;
  throw new CliError(`--write must name a YAML file of the workspace, not ${file}`, {
    code: "invalid-flag",
    hint: "Use --write manifests/imported.yaml.",
  });
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

/** The files and publications that were imported and that no manifest declares, as drafts of `file`. */
export function importedDrafts(
  effects: readonly LedgerEffect[],
  { file, declared }: { readonly file: string; readonly declared: Desired },
): readonly DesiredDraft[] {
  const files = attachmentsByAddress(declared);
  const published = new Set(declared.drafts.flatMap(({ draftId, publish }) => (publish ? [draftId] : [])));
  const drafts = new Map<number, { attachments: DesiredAttachment[]; revision?: number }>();
  const draftOf = (draftId: number) => {
    const draft = drafts.get(draftId) ?? { attachments: [] };
    drafts.set(draftId, draft);
    return draft;
  };
  for (const effect of effects) {
    if (effect.type === "attached" && !files.has(effect.attachment.address)) {
      const { address: text, attributes, draftId } = effect.attachment;
      const address = parseAddress(text);
      if (address?.type === "attachment")
        draftOf(draftId).attachments.push({ address, attributes, file, position: 0, layout: {} });
    }
    if (effect.type === "published" && !published.has(effect.draftId))
      draftOf(effect.draftId).revision = effect.revision;
  }
  return [...drafts].map(([draftId, { attachments, revision }]) => ({
    draftId,
    protect: false,
    managed: fileKinds.filter((kind) => attachments.some(({ address }) => address.kind === kind)),
    attachments,
    ...(revision === undefined ? {} : { publish: { revision, position: 0 } }),
    file,
    position: 0,
  }));
}

/** Adds drafts to a manifest, or creates it. Undoes that when `check` rejects, since the manifests would not be valid. */
export async function writeImported<T>(
  { root }: Config,
  { file, drafts }: { readonly file: string; readonly drafts: readonly DesiredDraft[] },
  check: () => Promise<T>,
): Promise<T> {
  const { addDrafts } = await import("../../manifest/format-draft.ts");
  const before = await readFile(resolve(root, file), "utf8").catch((error: unknown) => {
    if (systemCodeOf(error) === "ENOENT") return "";
    throw error;
  });
  const undo = await writeAll(root, { [file]: addDrafts(before, drafts) });
  return await check().catch(async (error: unknown) => {
    await undo();
    throw error;
  });
}
