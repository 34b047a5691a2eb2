import { posix } from "node:path";
import { type AttributeName, type Attributes, type FileKind, pickAttributes } from "../model/resource.ts";
import { locationAt, type SourceLocation } from "../model/source-location.ts";
import type { ParsedDefaults } from "./parsed-manifest.ts";

/** The attributes that entries of one list get from `defaults` documents. */
export interface Defaults {
  readonly attributes: Attributes;
  readonly locations: Readonly<Partial<Record<AttributeName, SourceLocation>>>;
}

/** The `defaults` documents of a workspace, by folder. */
export class FolderDefaults {
  readonly #byFolder = new Map<string, { readonly file: string; readonly parsed: ParsedDefaults }>();
  readonly #files = new Set<string>();
  readonly #merged = new Map<string, Defaults | undefined>();

  /** The files of the documents, also of those that were not added. */
  get files(): readonly string[] {
    return [...this.#files];
  }

  /** Adds a document, before the first {@link of}. Returns the location of an earlier one of the same folder, which stays. */
  add(file: string, parsed: ParsedDefaults): SourceLocation | undefined {
    this.#files.add(file);
    const folder = posix.dirname(file);
    const first = this.#byFolder.get(folder);
    if (first !== undefined) return locationAt(first.file, first.parsed.position);
    this.#byFolder.set(folder, { file, parsed });
    return undefined;
  }

  /** What applies to the entries of a list in a folder: of each attribute, the value of the nearest folder. */
  of(folder: string, kind: FileKind): Defaults | undefined {
    if (this.#byFolder.size === 0) return undefined;
    const key = `${kind} ${folder}`;
    if (!this.#merged.has(key)) this.#merged.set(key, this.#merge(folder, kind));
    return this.#merged.get(key);
  }

  #merge(folder: string, kind: FileKind): Defaults | undefined {
    const outer = folder === "." ? undefined : this.of(posix.dirname(folder), kind);
    const own = this.#byFolder.get(folder);
    if (own === undefined) return outer;
    const { file, parsed } = own;
    const values = parsed.values[kind];
    const locations = { ...outer?.locations };
    for (const name of Object.keys(values) as AttributeName[])
      locations[name] = locationAt(file, parsed.positions[name] ?? parsed.position);
    return { attributes: pickAttributes(kind, { ...outer?.attributes, ...values }), locations };
  }
}
