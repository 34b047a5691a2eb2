import nodeFs from "node:fs";
import { basename, dirname, relative, sep } from "node:path";
import type { Diagnostic } from "../model/diagnostic.ts";
import { isYamlName } from "./glob-pattern.ts";
import { below, lastingVersionOf, type RealPaths, versionOf } from "./paths.ts";
import { outsideFile, unreadable } from "./search-diagnostics.ts";

/** In how many ways a search follows links below two others to a folder: it walks along every path between such folders. */
const maxWays = 250;
const tooManyWays = new Error(`links below links lead to it in more than ${maxWays} ways`);
/** Stands for a folder that is not followed further. */
const closed = ":closed";

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
  const nameOf = (path: string) =>
    relative(root, links.get(path.replace(/(?<=.)\/$/, "")) ?? path)
      .split(sep)
      .join("/");
  // The search takes a link for a cycle when its target's path begins like that of a link above, as `a-b` and `a/b` do in `a`.
  // Here the target of a link is named by a number, and only the same target is a cycle.
  const numbers = new Map<string, string>();
  const linked = new Map<string, string>([[closed, root]]);
  const nameFor = (folder: string) => {
    const name = numbers.get(folder) ?? `:link ${String(numbers.size).padStart(9, "0")}`;
    numbers.set(folder, name);
    linked.set(name, folder);
    return `${sep}${name}`;
  };
  const linkedFolder = (path: string) => linked.get(basename(path)) ?? path;
  /** The links to folders, and in how many ways links below two others lead to each folder. */
  const followed = new Set<string>();
  const ways = new Map<string, number>();
  const follow = (link: string, folder: string) => {
    followed.add(link);
    if (linksAbove(link, followed) < 2) return nameFor(folder);
    const way = (ways.get(folder) ?? 0) + 1;
    ways.set(folder, way);
    if (way <= maxWays) return nameFor(folder);
    if (way === maxWays + 1) report(unreadable(nameOf(folder), tooManyWays));
    return `${sep}${closed}`;
  };
  const readdir = (given: string, options: { withFileTypes: true }, done: ReaddirCallback) => {
    if (basename(given) === closed) {
      done(null, []);
      return;
    }
    const path = linkedFolder(given);
    if (leadsOutside(path, paths)) {
      if (!refused.has(path)) report(outsideFile(nameOf(path)));
      refused.add(path);
      done(null, []);
      return;
    }
    const version = lastingVersionOf(path);
    nodeFs.readdir(path, options, (error, entries) => {
      if (error !== null) report(unreadable(nameOf(path) || "the workspace folder", error));
      else if (!folders.has(path)) folders.set(path, { version, names: namesOf(entries) });
      for (const entry of entries ?? []) if (entry.isFile()) plain.add(below(path, entry.name));
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
        done(null, stats?.isDirectory() ? follow(path, resolved) : resolved),
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

function linksAbove(path: string, links: ReadonlySet<string>): number {
  let count = 0;
  for (let folder = dirname(path); folder !== dirname(folder); folder = dirname(folder)) {
    if (links.has(folder)) count += 1;
  }
  return count;
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
