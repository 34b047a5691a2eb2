import { existsSync, readdirSync, statSync } from "node:fs";
import { join, posix, relative, sep } from "node:path";
import { glob } from "tinyglobby";
import { compareText } from "../model/address.ts";
import type { Diagnostic } from "../model/diagnostic.ts";
import type { SourceLocation } from "../model/source-location.ts";
import {
  allManifests,
  folderOf,
  isExclusion,
  isLiteral,
  isYamlName,
  leavesWorkspace,
  withBothEndings,
  withoutBraces,
  withoutDot,
} from "./glob-pattern.ts";
import { guardedFs, hasChanged, type SearchNotes } from "./guarded-fs.ts";
import { nearest } from "./nearest.ts";
import { below, RealPaths, versionOf } from "./paths.ts";
import {
  noPatterns,
  outsideFile,
  outsidePattern,
  unmatchedFiles,
  unmatchedPattern,
  unreadable,
} from "./search-diagnostics.ts";

/** Manifests that patterns name: relative to the workspace, forward slashes, sorted. */
export interface FoundFiles {
  readonly files: readonly string[];
  /** Other names of these files (links), by name. */
  readonly links: ReadonlyMap<string, string>;
  readonly diagnostics: readonly Diagnostic[];
  /** The folders, relative to the workspace, in which a manifest may have come or gone since. */
  readonly changedFolders: () => readonly string[];
}

/**
 * Finds the files that glob patterns name. Names that start with a dot and `node_modules` are left out. Symbolic
 * links are followed, and each file is found once. A manifest that is not seen must never look like one that was
 * removed, so these are errors: a pattern that matches nothing, a link that leads nowhere or out of the workspace, a
 * folder that cannot be read. A YAML file next to the manifests that no pattern matches is a warning.
 *
 * `places`: where the config has each pattern.
 */
export async function findFiles(
  root: string,
  patterns: readonly string[],
  places: readonly (SourceLocation | undefined)[] = [],
): Promise<FoundFiles> {
  const outside = [...patterns.entries()].filter(([, pattern]) => leavesWorkspace(pattern));
  if (outside.length > 0) {
    return nothing(outside.map(([at, pattern]) => outsidePattern(pattern, places[at])));
  }
  let paths: RealPaths;
  try {
    paths = new RealPaths(root);
  } catch (error) {
    return nothing([unreadable("the workspace folder", error)]);
  }
  return new FileSearch(root, paths, patterns.filter(isExclusion)).run(
    [...patterns.entries()]
      .filter(([, pattern]) => !isExclusion(pattern))
      .flatMap(([at, pattern]) =>
        withoutBraces(pattern).map((each) => ({ pattern: each, place: places[at] })),
      ),
  );
}

function nothing(diagnostics: readonly Diagnostic[]): FoundFiles {
  return { files: [], links: new Map(), diagnostics, changedFolders: () => [] };
}

/** How often folders in which files come and go all the time are compared. */
const maxLooks = 10;

interface PlacedPattern {
  readonly pattern: string;
  readonly place: SourceLocation | undefined;
}

class FileSearch {
  readonly #root: string;
  readonly #paths: RealPaths;
  readonly #exclusions: readonly string[];
  readonly #plain = new Set<string>();
  readonly #folders: SearchNotes["folders"] = new Map();
  /** By code and message: several patterns read the same folder. */
  readonly #diagnostics = new Map<string, Diagnostic>();

  constructor(root: string, paths: RealPaths, exclusions: readonly string[]) {
    this.#root = root;
    this.#paths = paths;
    this.#exclusions = exclusions;
  }

  async run(patterns: readonly PlacedPattern[]): Promise<FoundFiles> {
    const matches = new Set<string>();
    const folders = new Set<string>();
    for (const placed of patterns) {
      if (!existsSync(join(this.#root, folderOf(placed.pattern)))) {
        this.#report(this.#unmatched(placed));
        continue;
      }
      const before = this.#diagnostics.size;
      const matched = await this.#match([placed.pattern], (diagnostic) => this.#report(diagnostic));
      for (const match of matched) matches.add(match);
      for (const folder of foldersOf(placed.pattern, matched)) folders.add(folder);
      // What could not be read may be what the pattern would have matched.
      if (matched.length === 0 && this.#diagnostics.size === before) this.#report(this.#unmatched(placed));
    }
    if (patterns.length === 0) this.#report(noPatterns);
    const { files, links } = this.#distinct(matches);
    const others = patterns.map(({ pattern }) => withBothEndings(pattern));
    const forgotten = await this.#forgotten(folders, { matches, others });
    if (forgotten.length > 0) this.#report(unmatchedFiles(forgotten));
    return {
      files,
      links,
      diagnostics: [...this.#diagnostics.values()],
      changedFolders: () => this.#changedFolders(),
    };
  }

  #changedFolders(): readonly string[] {
    const paths = [...this.#folders.keys()];
    const nameOf = (path: string) => relative(this.#root, path).split(sep).join("/") || ".";
    let restless: readonly string[] = paths;
    // A file that is moved while the folders are compared may be missed in both.
    for (let look = 0; look < maxLooks && restless.length > 0; look += 1) {
      const versions = paths.map(versionOf);
      const changed = [...this.#folders].filter(([path, folder]) => hasChanged(path, folder));
      if (changed.length > 0) return changed.map(([path]) => nameOf(path)).sort(compareText);
      restless = paths.filter((path, at) => versionOf(path) !== versions[at]);
    }
    return restless.map(nameOf).sort(compareText);
  }

  async #match(
    patterns: readonly string[],
    report: (diagnostic: Diagnostic) => void,
    { caseSensitiveMatch = true } = {},
  ): Promise<readonly string[]> {
    const found = await glob([...patterns, ...this.#exclusions], {
      cwd: this.#root,
      dot: false,
      onlyFiles: true,
      expandDirectories: false,
      followSymbolicLinks: true,
      caseSensitiveMatch,
      ignore: ["**/node_modules/**"],
      fs: guardedFs(this.#root, this.#paths, { plain: this.#plain, folders: this.#folders, report }),
    });
    return found.map(withoutDot);
  }

  /** The matches that are in the workspace, one name for each file: its own, or else the first. */
  #distinct(matches: ReadonlySet<string>): Pick<FoundFiles, "files" | "links"> {
    const names = new Map<string, string>();
    const realPaths = new Map<string, string>();
    const outside = new Set<string>();
    for (const file of [...matches].sort(compareText)) {
      try {
        const path = below(this.#root, file);
        const real = this.#plain.has(path) ? this.#paths.ofFile(path) : this.#paths.of(path);
        if (!this.#paths.contains(real)) {
          if (!outside.has(real)) this.#report(outsideFile(file));
          outside.add(real);
          continue;
        }
        realPaths.set(file, real);
        if (!names.has(real) || below(this.#paths.root, file) === real) names.set(real, file);
      } catch (error) {
        this.#report(unreadable(file, error));
      }
    }
    const others = [...realPaths].flatMap(([file, real]) => {
      const name = names.get(real);
      return name === undefined || name === file ? [] : [[file, name] as const];
    });
    return { files: [...names.values()].sort(compareText), links: new Map(others) };
  }

  #unmatched({ pattern, place }: PlacedPattern): Diagnostic {
    const folder = folderOf(pattern);
    const path = join(this.#root, pattern);
    const isMissing = !existsSync(join(this.#root, folder));
    return unmatchedPattern({
      pattern,
      place,
      isLiteral: isLiteral(pattern),
      isFolder: isLiteral(pattern) && existsSync(path) && statSync(path).isDirectory(),
      missing: isMissing ? folder : undefined,
      similar: isMissing ? this.#similarFolder(folder) : undefined,
    });
  }

  /** A folder that exists, with the name of one that does not in another spelling. */
  #similarFolder(folder: string): string | undefined {
    const parent = posix.dirname(folder);
    const path = join(this.#root, parent);
    if (!existsSync(path)) return undefined;
    const names = readdirSync(path, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    const similar = nearest(
      posix.basename(folder),
      names.map(({ name }) => name),
    );
    return similar === undefined ? undefined : posix.join(parent, similar);
  }

  /** YAML files that no pattern matches: below the folders of manifests, or named like a manifest with the other ending. */
  async #forgotten(
    folders: ReadonlySet<string>,
    { matches, others }: { readonly matches: ReadonlySet<string>; readonly others: readonly string[] },
  ): Promise<readonly string[]> {
    const outermost = [...folders].filter((folder) => !isBelowOther(folder, folders));
    const all = outermost.map((folder) => `${escapeGlob(folder)}/${allManifests}`);
    const found = await this.#match([...all, ...others], () => {}, { caseSensitiveMatch: false });
    return found
      .filter((file) => isYamlName(file) && !matches.has(file) && posix.basename(file) !== "draftsync.yaml")
      .sort(compareText);
  }

  #report(diagnostic: Diagnostic): void {
    const id = `${diagnostic.code} ${diagnostic.message}`;
    if (!this.#diagnostics.has(id)) this.#diagnostics.set(id, diagnostic);
  }
}

/** The folders that hold a pattern's manifests. The workspace folder itself holds other YAML files, too. */
function foldersOf(pattern: string, matches: readonly string[]): readonly string[] {
  const folder = folderOf(pattern);
  if (folder !== "") return [folder];
  return matches.flatMap((file) => (file.includes("/") ? [file.slice(0, file.indexOf("/"))] : []));
}

function isBelowOther(folder: string, folders: ReadonlySet<string>): boolean {
  for (let parent = posix.dirname(folder); parent !== "."; parent = posix.dirname(parent)) {
    if (folders.has(parent)) return true;
  }
  return false;
}

function escapeGlob(path: string): string {
  return path.replace(/[*?[\]{}()!\\@+|]/g, "\\$&");
}
