import { isUtf8 } from "node:buffer";
import { closeSync, fstatSync, lstatSync, readFileSync, realpathSync, type Stats } from "node:fs";
import { join, relative } from "node:path";
import pLimit from "p-limit";
import { formatAddress } from "../model/address.ts";
import type { SourceContent } from "../model/desired.ts";
import type { Diagnostic } from "../model/diagnostic.ts";
import { fileHint, messageOf, systemCodeOf } from "../model/errors.ts";
import { append } from "../model/lists.ts";
import { wait } from "../model/wait.ts";
import type { FileUse, TextOf } from "./collect-desired.ts";
import { hashFile, openRegular } from "./hash-file.ts";
import type { FileRole } from "./parsed-manifest.ts";
import { lastingVersionOf, RealPaths, versionOf } from "./paths.ts";
import { readAll } from "./read-manifest.ts";
import { quote } from "./source-text.ts";

/** Files that are read at the same time: enough to keep a disk busy, few enough for open-file limits. */
const concurrency = 8;

/** How long a description file that was written just now must stay as it is, milliseconds. */
const quietMs = 100;

/**
 * How local sources are checked. `hash`: each is read, and its content noted in the attachments that use it. `stat`: it must
 * exist. Ids of drafts: `hash` for these, and those of other drafts may be missing.
 */
export type SourceCheck = "hash" | "stat" | ReadonlySet<number>;

/** What {@link checkFiles} needs. `root` is the absolute workspace folder. */
export interface CheckFilesOptions {
  readonly root: string;
  readonly uses: readonly FileUse[];
  readonly sources: SourceCheck;
  readonly textOf: TextOf;
  /** Absolute: files that no manifest may use. */
  readonly secretFiles?: readonly string[] | undefined;
  /** Ends the reading in the middle. */
  readonly signal?: AbortSignal | undefined;
}

/** Why a local file cannot be used; `says` follows its name. */
interface FileProblem {
  readonly code: string;
  readonly says: string;
  readonly hint: string;
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
  const { root, sources, textOf, signal } = options;
  const uses =
    typeof sources === "string"
      ? options.uses
      : options.uses.filter(
          ({ role, attachment }) =>
            role !== "source" || attachment === undefined || sources.has(attachment.address.draftId),
        );
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
  const tools = { root, paths, signal, secretFiles, hash: sources === "stat" ? undefined : hash };
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
    return settle(use, { problem: changedWhileRead }, textOf);
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

function settle(use: FileUse, result: CheckedFile, textOf: TextOf): Diagnostic[] {
  const { attachment, file, path, role, span } = use;
  if ("problem" in result) {
    const { code, says, hint } = result.problem;
    const message = `The ${role === "source" ? "source" : "description file"} ${quote(path)} ${says}`;
    const address = attachment === undefined ? {} : { address: formatAddress(attachment.address) };
    return [textOf(file).diagnose({ code, message, hint, ...address, span })];
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
  try {
    const real = paths.of(join(root, path));
    if (!paths.contains(real)) return { problem: outside };
    if (isSecret(role, real, { paths, secretFiles })) return { problem: secret };
    const stats = lstatSync(real);
    if (!stats.isFile()) return { problem: notAFile(stats) };
    if (stats.size === 0 && role === "source") return { problem: emptySource };
    if (stats.size < largestPointer && isPointer(real)) return { problem: pointer };
    if (role === "description_file") return readDescription(real);
    return hash === undefined ? {} : { content: await hash(real) };
  } catch (error) {
    signal?.throwIfAborted();
    return { problem: unreadable(error) };
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

/** A description may have this many bytes (1 MiB). */
const maxBytes = 1024 * 1024;

const decoder = new TextDecoder();

/** What no YAML scalar can hold: control characters other than tabs and line feeds. */
const control = /(?![\t\n\x7f-\x9f])\p{Cc}/u;

/** The first and the last line of what git leaves in a file that it could not merge. */
const conflict = { start: /^<{7} /m, end: /^>{7} /m };

/**
 * The text of a description file: UTF-8 without its byte order mark, with line feeds as line ends, as YAML reads a block.
 * The path must have no links left in it. Throws as {@link openRegular} does.
 */
function readDescription(real: string): CheckedFile {
  const descriptor = openRegular(real);
  try {
    const { size } = fstatSync(descriptor);
    if (size > maxBytes) return { problem: tooLarge(size) };
    const bytes = readAll(descriptor, size);
    if (!isUtf8(bytes)) return { problem: notUtf8 };
    const text = decoder.decode(bytes).replace(/\r\n?/g, "\n");
    if (text.trim() === "") return { problem: noText };
    const lineOf = ({ index }: RegExpExecArray) => text.slice(0, index).split("\n").length;
    const found = control.exec(text);
    if (found !== null) return { problem: controlCharacter(found[0], lineOf(found)) };
    const marker = conflict.end.test(text) ? conflict.start.exec(text) : null;
    return marker === null ? { text } : { problem: mergeConflict(lineOf(marker)) };
  } finally {
    closeSync(descriptor);
  }
}

const emptySource: FileProblem = {
  code: "source-empty",
  says: "is empty",
  hint: "Nothing of it could be sold; put its content in place, or remove the entry.",
};

const noText: FileProblem = {
  code: "source-empty",
  says: "holds no text",
  hint: 'Put the text in place. To clear the description, write description: "" instead.',
};

const outside: FileProblem = {
  code: "source-outside-workspace",
  says: "is a link that leads out of the workspace",
  hint: "Copy the file into the workspace; only files below the folder of draftsync.yaml are used.",
};

const secret: FileProblem = {
  code: "source-is-secret",
  says: "is a hidden file or one that the config names as a secret",
  hint: "Name a file that holds the content alone. A description cannot be a hidden file, and nothing the file of a key.",
};

const pointer: FileProblem = {
  code: "source-is-lfs-pointer",
  says: "is a Git LFS pointer, not the file itself",
  hint: "Run `git lfs pull`. In a pipeline, check out with Git LFS, such as `lfs: true` of actions/checkout.",
};

const notUtf8: FileProblem = {
  code: "not-utf8",
  says: "is not written in UTF-8",
  hint: "Save it again as UTF-8.",
};

const changedWhileRead: FileProblem = {
  code: "source-changed",
  says: "changed while it was read",
  hint: "Run again when nothing writes to it.",
};

function notAFile(stats: Stats): FileProblem {
  const kind = stats.isDirectory() ? "a folder" : stats.isFIFO() ? "a pipe" : "a device or socket";
  return {
    code: "source-not-a-file",
    says: `is ${kind}, not a file`,
    hint: "Name a regular file; each file has an entry of its own.",
  };
}

function tooLarge(bytes: number): FileProblem {
  const size = (bytes / 1024 / 1024).toFixed(1);
  return {
    code: "text-too-large",
    says: `has ${size} MiB; 1 MiB is the limit`,
    hint: "Name a file that holds the description alone.",
  };
}

function controlCharacter(character: string, line: number): FileProblem {
  const point = character.charCodeAt(0).toString(16).padStart(4, "0").toUpperCase();
  return {
    code: "control-character",
    says: `has the control character U+${point} in line ${line}`,
    hint: "Remove it: a description holds text, tabs and line ends.",
  };
}

function mergeConflict(line: number): FileProblem {
  return {
    code: "merge-conflict",
    says: `has the marker of a merge conflict in line ${line}`,
    hint: "Resolve the conflict: keep one of the two texts, and remove the markers.",
  };
}

function unreadable(error: unknown): FileProblem {
  const code = systemCodeOf(error);
  if (code === "ENOENT" || code === "ENOTDIR") {
    return {
      code: "source-missing",
      says: "is not there",
      hint: "The path is relative to the manifest's folder and case counts; here it is shown relative to the workspace.",
    };
  }
  if (code === "source-changed") return changedWhileRead;
  return {
    code: "source-unreadable",
    says: `cannot be read: ${messageOf(error)}`,
    hint: fileHint(error, "Check its permissions and its links."),
  };
}
