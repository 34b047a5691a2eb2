import nodeFs from "node:fs";
import { basename, relative, sep } from "node:path";
import type { Diagnostic } from "../model/diagnostic.ts";
import { isYamlName } from "./glob-pattern.ts";
import { below, lastingVersionOf, type RealPaths, versionOf } from "./paths.ts";
import { outsideFile, unreadable } from "./search-diagnostics.ts";

/** How often a search reads a folder: folders that link to each other are walked along every path between them. */
const maxReads = 250;
const tooManyWays = new Error(`links lead to it in more than ${maxReads} ways`);

/** What {@link guardedFs} notes. */
export interface SearchNotes {
  /** Gets the paths of files that are no links. */
  readonly plain: Set<string>;
  /** Gets the folders that are read. */
  readonly folders: Map<string, ReadFolder>;
  readonly report: (diagnostic: Diagnostic) => void;
}

/**
 * The file system as the search sees it. The search ignores what it cannot read; here that is reported, and folders
 * outside of the workspace are not entered. What could be taken for a manifest that was removed stays visible:
 *
 * | entry | is listed as |
 * |---|---|
 * | a pipe, socket or device | a file, which cannot be read as a manifest |
 * | a folder named like a manifest, or a link to one | what it is, and such a file |
 * | a link that leads nowhere | a file, and a folder that cannot be read: it may have been either |
 *
 * The patterns still decide whether it matters.
 */
export function guardedFs(
  root: string,
  paths: RealPaths,
  { plain, folders, report }: SearchNotes,
): typeof nodeFs {
  const links = new Map<string, string>();
  const refused = new Set<string>();
  const reads = new Map<string, number>();
  const nameOf = (path: string) =>
    relative(root, links.get(path.replace(/(?<=.)\/$/, "")) ?? path)
      .split(sep)
      .join("/");
  // The search takes a link for a cycle when its target's path begins like that of a link above, as `a-b` and `a/b` do in `a`.
  // Here the target of a link is named by a number, and only the same target is a cycle.
  const numbers = new Map<string, string>();
  const linked = new Map<string, string>();
  const nameFor = (folder: string) => {
    const name = numbers.get(folder) ?? `:link ${String(numbers.size).padStart(9, "0")}`;
    numbers.set(folder, name);
    linked.set(name, folder);
    return `${sep}${name}`;
  };
  const linkedFolder = (path: string) => linked.get(basename(path)) ?? path;
  const readdir = (given: string, options: { withFileTypes: true }, done: ReaddirCallback) => {
    const path = linkedFolder(given);
    if (leadsOutside(path, paths)) {
      if (!refused.has(path)) report(outsideFile(nameOf(path)));
      refused.add(path);
      done(null, []);
      return;
    }
    const read = (reads.get(path) ?? 0) + 1;
    reads.set(path, read);
    if (read > maxReads) {
      if (read === maxReads + 1) report(unreadable(nameOf(path) || "the workspace folder", tooManyWays));
      done(null, []);
      return;
    }
    const version = lastingVersionOf(path);
    nodeFs.readdir(path, options, (error, entries) => {
      if (error !== null) report(unreadable(nameOf(path) || "the workspace folder", error));
      for (const entry of entries ?? []) if (entry.isFile()) plain.add(below(path, entry.name));
      if (!folders.has(path)) folders.set(path, { version, names: namesOf(entries ?? []) });
      done(
        error,
        entries?.flatMap((entry) => listed(path, entry)),
      );
    });
  };
  const realpath = (path: string, done: RealpathCallback) =>
    nodeFs.realpath(path, (error, resolved) => {
      if (error !== null) {
        done(null, path);
        return;
      }
      if (!links.has(resolved)) links.set(resolved, path);
      nodeFs.stat(resolved, (_error, stats) =>
        done(null, stats?.isDirectory() ? nameFor(resolved) : resolved),
      );
    });
  const stat = (given: string, done: StatCallback) => {
    const path = linkedFolder(given);
    nodeFs.stat(path, (error, stats) => (error === null ? done(null, stats) : nodeFs.lstat(path, done)));
  };
  const guarded = new Map<string | symbol, unknown>(Object.entries({ readdir, realpath, stat }));
  return new Proxy(nodeFs, { get: (target, name) => guarded.get(name) ?? Reflect.get(target, name) });
}

/** A folder: its version just before it was read, and the names in it that may be manifests or folders of them. */
interface ReadFolder {
  readonly version: string;
  readonly names: string;
}

/** Whether manifests or folders were added or removed since a folder was read. */
export function hasChanged(path: string, { version, names }: ReadFolder): boolean {
  if (versionOf(path) === version) return false;
  try {
    return namesOf(nodeFs.readdirSync(path, { withFileTypes: true })) !== names;
  } catch {
    return true;
  }
}

function namesOf(entries: readonly Entry[]): string {
  const found = entries.filter((entry) => isYamlName(entry.name) || !entry.isFile());
  const names = found.map(({ name }) => name).filter((name) => !/^\.|^node_modules$/.test(name));
  return names.sort().join("/");
}

/** The part of a folder's entry that the search uses. */
type Entry = Pick<nodeFs.Dirent, "name" | "isFile" | "isDirectory" | "isSymbolicLink">;

function listed(folder: string, entry: Entry): readonly Entry[] {
  if (entry.isFile()) return [entry];
  if (entry.isDirectory()) return isYamlName(entry.name) ? [entry, entryOf(entry.name, "file")] : [entry];
  if (!entry.isSymbolicLink()) return [entryOf(entry.name, "file")];
  const target = targetOf(below(folder, entry.name));
  if (target === undefined) return [entry, entryOf(entry.name, "folder")];
  return target.isDirectory() && isYamlName(entry.name) ? [entry, entryOf(entry.name, "file")] : [entry];
}

function entryOf(name: string, kind: "file" | "folder"): Entry {
  return {
    name,
    isFile: () => kind === "file",
    isDirectory: () => kind === "folder",
    isSymbolicLink: () => false,
  };
}

/** What a link leads to, if anything. */
function targetOf(link: string): nodeFs.Stats | undefined {
  try {
    return nodeFs.statSync(link, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

type ReaddirCallback = (error: NodeJS.ErrnoException | null, entries: readonly Entry[] | undefined) => void;
type RealpathCallback = (error: null, resolved: string) => void;
type StatCallback = (error: NodeJS.ErrnoException | null, stats: nodeFs.Stats) => void;

function leadsOutside(folder: string, paths: RealPaths): boolean {
  try {
    return !paths.contains(nodeFs.realpathSync.native(folder));
  } catch {
    return false;
  }
}
