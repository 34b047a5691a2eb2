import { mkdir } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import type { z } from "zod";
import { DiagnosticsError } from "../cli/runtime/cli-error.ts";
import { formatDocuments } from "../manifest/format-draft.ts";
import type {
  defaultsDocument,
  draftDocument,
  duplicatesDocument,
  referenceNames,
} from "../manifest/manifest-schema.ts";
import { parseManifest } from "../manifest/parse-manifest.ts";
import { hasErrors } from "../model/diagnostic.ts";
import { DraftsyncError } from "../model/errors.ts";
import { readIfThere, replaceFile } from "../model/replace-file.ts";
import type { FileKind } from "../model/resource.ts";

type DraftInput = z.input<typeof draftDocument>;
type ReferenceName = (typeof referenceNames)[number];
type EntryOf<Kind extends FileKind> = NonNullable<DraftInput[Kind]>[number];
type Attributes<Kind extends FileKind> = Omit<EntryOf<Kind>, ReferenceName>;

/** Exactly one of the members of `T`. */
type OneOf<T> = {
  [K in keyof T]-?: { readonly [P in K]-?: NonNullable<T[P]> } & {
    readonly [P in Exclude<keyof T, K>]?: never;
  };
}[keyof T];

type Reference = OneOf<Pick<EntryOf<"product_files">, ReferenceName>>;

/** An entry of `product_files`: its file by exactly one of four names, and its attributes. */
export type ProductFile = Reference & Readonly<Attributes<"product_files">>;

/** An entry of `promotional_files`, with a description or a description file at most. */
export type PromotionalFile = Reference &
  Readonly<Omit<Attributes<"promotional_files">, "description" | "description_file">> &
  (
    | { readonly description?: string; readonly description_file?: never }
    | { readonly description?: never; readonly description_file: string }
  );

/** A document that declares one draft. docs/reference/manifest.md describes each key. */
export interface Draft extends Readonly<Omit<DraftInput, FileKind>> {
  readonly product_files?: readonly ProductFile[];
  readonly promotional_files?: readonly PromotionalFile[];
}

/** The documents of one manifest. */
export type Manifest = readonly (
  | Draft
  | Readonly<z.input<typeof duplicatesDocument>>
  | Readonly<z.input<typeof defaultsDocument>>
)[];

/** The draft itself, checked by TypeScript where it is written. */
export function defineDraft(draft: Draft): Draft {
  return draft;
}

const comment = "Written by a program: change the program, not this file.";

/**
 * Writes a manifest, whole or not at all, unless the file has the same text already; true if it was written. Leaves the file as it
 * is and throws `DiagnosticsError` with the mistakes that the command line would report, or `DraftsyncError` `manifest-by-hand` for a
 * file that it did not write.
 */
export async function writeManifest(file: string, manifest: Manifest): Promise<boolean> {
  const text = formatDocuments([...manifest], comment);
  const { diagnostics } = parseManifest(basename(file), Buffer.from(text));
  if (hasErrors(diagnostics)) throw new DiagnosticsError(diagnostics);
  const path = resolve(file);
  const before = (await readIfThere(path))?.toString("utf8") ?? "";
  if (before === text) return false;
  if (before !== "" && !before.startsWith(`# ${comment}\n`)) {
    throw new DraftsyncError(`${file} was not written by writeManifest; it stays as it is`, {
      code: "manifest-by-hand",
      hint: "Remove the file, or write to another one.",
    });
  }
  await mkdir(dirname(path), { recursive: true });
  await replaceFile(path, text);
  return true;
}
