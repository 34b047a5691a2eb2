import nodeFs from "node:fs";
import { relative, sep } from "node:path";
import { glob } from "tinyglobby";
import { compareText } from "../model/address.ts";
import type { Diagnostic } from "../model/diagnostic.ts";
import { messageOf, systemCodeOf } from "../model/errors.ts";
import { below, RealPaths } from "./paths.ts";
import { quote, quoteList } from "./quote.ts";

/** Manifests that patterns name: relative to the workspace, forward slashes, sorted. */
export interface FoundFiles {
  readonly files: readonly string[];
  readonly diagnostics: readonly Diagnostic[];
}

/**
 * Finds the files that glob patterns name. Names that start with a dot and `node_modules` are left out. Symbolic
 * links are followed, each file is found once, and one that is outside of the workspace is an error, as is a folder
 * that cannot be read and a link that leads nowhere: a manifest that is not seen must never look like one that was
 * taken away.
 */
export async function findFiles(root: string, patterns: readonly string[]): Promise<FoundFiles> {
  const outside = patterns.filter(leavesWorkspace);
  if (outside.length > 0) return { files: [], diagnostics: outside.map(outsidePattern) };
  let paths: RealPaths;
  try {
    paths = new RealPaths(root);
  } catch (error) {
    return { files: [], diagnostics: [unreadable("the workspace folder", error)] };
  }
  const diagnostics: Diagnostic[] = [];
  const plain = new Set<string>();
  const matches = await glob([...patterns], {
    cwd: root,
    dot: false,
    onlyFiles: true,
    expandDirectories: false,
    followSymbolicLinks: true,
    ignore: ["**/node_modules/**"],
    fs: guardedFs(root, paths, { plain, report: (diagnostic) => diagnostics.push(diagnostic) }),
  });
  const files = distinctFiles({ root, paths, plain }, matches, diagnostics);
  if (files.length > 0) diagnostics.push(...missingFiles(patterns, matches));
  else if (diagnostics.length === 0) diagnostics.push(noManifests(patterns));
  return { files, diagnostics };
}

interface Found {
  readonly root: string;
  readonly paths: RealPaths;
  /** Paths of files that are no links, as far as they were met. */
  readonly plain: ReadonlySet<string>;
}

/** The matches that are in the workspace, one name for each file: its own, or else the first. */
function distinctFiles({ root, paths, plain }: Found, matches: readonly string[], diagnostics: Diagnostic[]) {
  const names = new Map<string, string>();
  const outside = new Set<string>();
  for (const match of [...matches].sort(compareText)) {
    const file = withoutDot(match);
    try {
      const path = below(root, file);
      const real = plain.has(path) ? paths.ofFile(path) : paths.of(path);
      if (!paths.contains(real)) {
        if (!outside.has(real)) diagnostics.push(outsideFile(file));
        outside.add(real);
      } else if (!names.has(real) || below(paths.root, file) === real) names.set(real, file);
    } catch (error) {
      diagnostics.push(unreadable(file, error));
    }
  }
  return [...names.values()].sort(compareText);
}

/** A pattern that is absolute or goes up. `..` inside of braces counts too; as a range (`{1..3}`) it is no step up. */
function leavesWorkspace(pattern: string): boolean {
  const positive = pattern.replace(/^!/, "");
  return /^(?:[/\\]|[A-Za-z]:)/.test(positive) || /(?:^|[/\\{,(|])\.\.(?:$|[/\\},)|])/.test(positive);
}

/**
 * The file system as the search sees it. It passes over in silence what it cannot read; here that is reported, and
 * folders outside of the workspace are not entered. A link that leads nowhere counts as a file, so that the patterns
 * decide whether it matters.
 */
function guardedFs(
  root: string,
  paths: RealPaths,
  { plain, report }: { readonly plain: Set<string>; readonly report: (diagnostic: Diagnostic) => void },
) {
  const links = new Map<string, string>();
  const refused = new Set<string>();
  const nameOf = (path: string) =>
    relative(root, links.get(path.replace(/(?<=.)\/$/, "")) ?? path)
      .split(sep)
      .join("/");
  const readdir = (path: string, options: { withFileTypes: true }, done: ReaddirCallback) => {
    if (leadsOutside(path, paths)) {
      if (!refused.has(path)) report(outsideFile(nameOf(path)));
      refused.add(path);
      done(null, []);
      return;
    }
    nodeFs.readdir(path, options, (error, entries) => {
      if (error !== null) report(unreadable(nameOf(path) || "the workspace folder", error));
      for (const entry of entries ?? []) if (entry.isFile()) plain.add(below(path, entry.name));
      done(error, entries);
    });
  };
  const realpath = (path: string, done: RealpathCallback) =>
    nodeFs.realpath(path, (error, resolved) => {
      if (error === null && !links.has(resolved)) links.set(resolved, path);
      done(null, error === null ? resolved : path);
    });
  const stat = (path: string, done: StatCallback) =>
    nodeFs.stat(path, (error, stats) => (error === null ? done(null, stats) : nodeFs.lstat(path, done)));
  const guarded = new Map<string | symbol, unknown>(Object.entries({ readdir, realpath, stat }));
  return new Proxy(nodeFs, { get: (target, name) => guarded.get(name) ?? Reflect.get(target, name) });
}

type ReaddirCallback = (error: NodeJS.ErrnoException | null, entries: nodeFs.Dirent[]) => void;
type RealpathCallback = (error: null, resolved: string) => void;
type StatCallback = (error: NodeJS.ErrnoException | null, stats: nodeFs.Stats) => void;

function leadsOutside(folder: string, paths: RealPaths): boolean {
  try {
    return !paths.contains(nodeFs.realpathSync.native(folder));
  } catch {
    return false;
  }
}

function outsidePattern(pattern: string): Diagnostic {
  return {
    severity: "error",
    code: "pattern-outside-workspace",
    message: `The pattern ${quote(pattern)} leads out of the workspace`,
    hint: "Write it from the workspace folder downwards, without .. and without a leading slash.",
  };
}

function outsideFile(file: string): Diagnostic {
  return {
    severity: "error",
    code: "manifest-outside-workspace",
    message: `${quote(file)} is a link that leads out of the workspace`,
    hint: "Put the manifests into the workspace, or exclude the link with a pattern that starts with !.",
    place: { file, line: 1, column: 1 },
  };
}

function unreadable(what: string, error: unknown): Diagnostic {
  return {
    severity: "error",
    code: "manifest-unreadable",
    message: `Cannot read ${what}: ${reasonOf(error)}`,
    hint: "Make it readable or remove it. A manifest that is not seen would look like one that was taken away.",
  };
}

/** Without the path, which may be a longer one than the user knows. */
function reasonOf(error: unknown): string {
  const code = systemCodeOf(error);
  if (code === "ENOENT") return "it is not there, or a link that leads nowhere";
  if (code === "EACCES" || code === "EPERM") return "permission denied";
  return messageOf(error);
}

/** A pattern without wildcards names one file; that it is missing is a mistake, not an empty match. */
function missingFiles(patterns: readonly string[], matches: readonly string[]): Diagnostic[] {
  const found = new Set(matches.map(withoutDot));
  return patterns
    .filter((pattern) => !/[*?[\]{}()!\\]/.test(pattern) && !found.has(withoutDot(pattern)))
    .map((pattern) => ({
      severity: "error",
      code: "manifest-missing",
      message: `The manifest ${quote(pattern)} is not there`,
      hint: "Put it in its place, or take it out of `manifests` in the config.",
    }));
}

function withoutDot(path: string): string {
  return path.replace(/^\.\//, "");
}

function noManifests(patterns: readonly string[]): Diagnostic {
  return {
    severity: "error",
    code: "no-manifests",
    message:
      patterns.length === 0
        ? "No pattern for manifests is given"
        : `No file matches ${quoteList(patterns, "or")}`,
    hint: 'Patterns are relative to the workspace folder, such as "manifests/**/*.yaml"; hidden files and node_modules are left out.',
  };
}
