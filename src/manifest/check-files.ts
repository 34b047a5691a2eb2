import { lstatSync, readFileSync, realpathSync } from "node:fs";
import { join, relative } from "node:path";
import pLimit from "p-limit";
import { formatAddress } from "../model/address.ts";
import { append } from "../model/append.ts";
import type { SourceContent } from "../model/desired.ts";
import type { Diagnostic } from "../model/diagnostic.ts";
import { wait } from "../model/wait.ts";
import type { FileUse, TextOf } from "./collect-desired.ts";
import { type FileProblem, FileProblems } from "./file-problems.ts";
import { hashFile } from "./hash-file.ts";
import type { FileRole } from "./parsed-manifest.ts";
import { lastingVersionOf, RealPaths, versionOf } from "./paths.ts";
import { readDescription } from "./read-description.ts";
import { quote } from "./source-text.ts";

/** Files that are read at the same time: enough to keep a disk busy, few enough for open-file limits. */
const concurrency = 8;

/** How long a description file that was written just now must stay as it is, milliseconds. */
const quietMs = 100;

/** What {@link checkFiles} needs. `root` is the absolute workspace folder. */
export interface CheckFilesOptions {
  readonly root: string;
  readonly uses: readonly FileUse[];
  /** `hash`: also reads every source and notes its content in the attachments that use it. */
  readonly sources: "hash" | "stat";
  readonly textOf: TextOf;
  /** Absolute: files that no manifest may use. */
  readonly secretFiles?: readonly string[] | undefined;
  /** Ends the reading in the middle. */
  readonly signal?: AbortSignal | undefined;
}

/** Found on disk, with the content of a source when asked for and the text of a description; or the problem. */
type CheckedFile =
  | { readonly content?: SourceContent; readonly text?: string }
  | { readonly problem: FileProblem };

/**
 * Checks every local file that manifests name, and reads descriptions: each must be a regular file with content, inside the
 * workspace after all links. Pipes and devices are never opened. Each file is read once however often it is named. Rejects
 * with the signal's reason when that is aborted.
 */
export async function checkFiles(options: CheckFilesOptions): Promise<Diagnostic[]> {
  const { root, uses, sources, textOf, signal } = options;
  if (uses.length === 0) return [];
  const paths = new RealPaths(root);
  const limit = pLimit(concurrency);
  const hashes = new Map<string, Promise<SourceContent>>();
  const hash = (real: string) => {
    const known = hashes.get(real) ?? limit(() => hashFile(real, signal));
    hashes.set(real, known);
    return known;
  };
  const byFile = new Map<string, FileUse[]>();
  for (const use of uses) append(byFile, `${use.role} ${use.path}`, use);
  const secretFiles = new Set((options.secretFiles ?? []).flatMap((file) => realPathOf(file)));
  const tools = { root, paths, signal, secretFiles, hash: sources === "hash" ? hash : undefined };
  const versions = new Map(
    uses.flatMap(({ role, path }) =>
      role === "description_file" ? [[path, versionOf(join(root, path))] as const] : [],
    ),
  );
  // What was written just now may not be complete yet.
  const isRecent = [...versions.keys()].some((path) => lastingVersionOf(join(root, path)) === "");
  const checked = [...byFile.values()].map(async (users) => {
    const [first] = users;
    if (first === undefined) return [];
    const { role, path } = first;
    const result = await check(role, path, tools);
    // One problem of a file is enough.
    if ("problem" in result && role === "description_file") versions.delete(path);
    return users.flatMap((use) => settle(use, result, textOf));
  });
  const found = (await Promise.all(checked)).flat();
  if (isRecent && signal?.aborted !== true) await wait(quietMs, signal ?? new AbortController().signal);
  signal?.throwIfAborted();
  const changed = uses.flatMap((use) => {
    const version = use.role === "description_file" ? versions.get(use.path) : undefined;
    if (version === undefined || version === versionOf(join(root, use.path))) return [];
    return settle(use, { problem: new FileProblems(use.role, use.path).changed() }, textOf);
  });
  return [...found, ...changed, ...equalContents(uses, textOf)];
}

/**
 * Entries of one list whose files have the same content. A service may take both for one file, and a list holds a file once:
 * whether two of them can be attached must not depend on the service or on what was uploaded before.
 */
function equalContents(uses: readonly FileUse[], textOf: TextOf): Diagnostic[] {
  const first = new Map<string, FileUse>();
  return uses.flatMap((use) => {
    const { attachment, file, path, role, span } = use;
    if (role !== "source" || attachment?.content === undefined) return [];
    const { draftId, kind } = attachment.address;
    const name = `${draftId}/${kind}/${attachment.content.sha256}`;
    const other = first.get(name);
    if (other === undefined) {
      first.set(name, use);
      return [];
    }
    const text = textOf(file);
    const { line } = text.place(other.span[0]);
    const issue = {
      code: "same-content-twice",
      message: `The source ${quote(path)} has the same content as ${quote(other.path)} on line ${line}`,
      hint: "Keep one of the two entries, or change one of the files: a list holds a file once.",
      address: formatAddress(attachment.address),
      span,
      related: other.span,
    };
    return [text.diagnose(issue)];
  });
}

function settle({ attachment, file, span }: FileUse, result: CheckedFile, textOf: TextOf): Diagnostic[] {
  if ("problem" in result) {
    const address = attachment === undefined ? {} : { address: formatAddress(attachment.address) };
    return [textOf(file).diagnose({ ...result.problem, ...address, span })];
  }
  if (attachment === undefined) return [];
  if (result.content !== undefined) attachment.content = result.content;
  if (result.text !== undefined)
    attachment.attributes = { ...attachment.attributes, description: result.text };
  return [];
}

interface CheckTools {
  readonly root: string;
  readonly paths: RealPaths;
  readonly hash: ((real: string) => Promise<SourceContent>) | undefined;
  readonly signal: AbortSignal | undefined;
  readonly secretFiles: ReadonlySet<string>;
}

/** Plans show descriptions, and sources are uploaded: neither may contain a key, or the text of a file such as `.git/config`. */
function isSecret(
  role: FileRole,
  real: string,
  { paths, secretFiles }: Pick<CheckTools, "paths" | "secretFiles">,
): boolean {
  if (secretFiles.has(real)) return true;
  return role === "description_file" && /(?:^|[\\/])\./.test(relative(paths.root, real));
}

async function check(
  role: FileRole,
  path: string,
  { root, paths, hash, signal, secretFiles }: CheckTools,
): Promise<CheckedFile> {
  const problems = new FileProblems(role, path);
  try {
    const real = paths.of(join(root, path));
    if (!paths.contains(real)) return { problem: problems.outside() };
    if (isSecret(role, real, { paths, secretFiles })) return { problem: problems.secret() };
    const stats = lstatSync(real);
    if (!stats.isFile()) return { problem: problems.notAFile(stats) };
    if (stats.size === 0) return { problem: problems.empty() };
    if (stats.size < largestPointer && isPointer(real)) return { problem: problems.pointer() };
    if (role === "description_file") return readDescription(real, problems);
    return hash === undefined ? {} : { content: await hash(real) };
  } catch (error) {
    signal?.throwIfAborted();
    return { problem: problems.unreadable(error) };
  }
}

function realPathOf(file: string): readonly string[] {
  try {
    return [realpathSync.native(file)];
  } catch {
    return [];
  }
}

/** A checkout without Git LFS has small text files in place of the real ones (git-lfs, docs/spec.md). */
function isPointer(real: string): boolean {
  return readFileSync(real, "latin1").startsWith("version https://git-lfs.github.com/spec/");
}

/** Bytes. */
const largestPointer = 1024;
