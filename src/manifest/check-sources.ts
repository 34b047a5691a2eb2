import type { Stats } from "node:fs";
import { lstatSync, readFileSync } from "node:fs";
import { join } from "node:path";
import pLimit from "p-limit";
import { formatAddress } from "../model/address.ts";
import { append } from "../model/append.ts";
import type { SourceContent } from "../model/desired.ts";
import type { Diagnostic } from "../model/diagnostic.ts";
import { fileHint, messageOf, systemCodeOf } from "../model/errors.ts";
import type { SourceUse, TextOf } from "./collect-desired.ts";
import { hashFile } from "./hash-file.ts";
import { RealPaths } from "./paths.ts";
import { quote } from "./quote.ts";

/** Files that are read at the same time: enough to keep a disk busy, few enough for open-file limits. */
const concurrency = 8;

/** What {@link checkSources} needs. `root` is the absolute workspace folder. */
export interface CheckSourcesOptions {
  readonly root: string;
  readonly uses: readonly SourceUse[];
  /** `hash`: also reads every file and notes its content in the attachments that use it. */
  readonly sources: "hash" | "stat";
  readonly textOf: TextOf;
  /** Ends the reading in the middle. */
  readonly signal?: AbortSignal | undefined;
}

interface SourceProblem {
  readonly code: string;
  readonly message: string;
  readonly hint: string;
}

/** Found on disk (with its content when asked for), or what is wrong with it. */
type CheckedSource = { readonly content?: SourceContent } | { readonly problem: SourceProblem };

/**
 * Looks at every local file that manifests name: it must be a regular file with content, inside the workspace after
 * all links. Pipes and devices are never opened. Each file is read once however often it is named. Rejects with the
 * signal's reason when that is aborted.
 */
export async function checkSources(options: CheckSourcesOptions): Promise<Diagnostic[]> {
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
  const byPath = new Map<string, SourceUse[]>();
  for (const use of uses) append(byPath, use.path, use);
  const tools = { root, paths, signal, hash: sources === "hash" ? hash : undefined };
  const checked = [...byPath].map(async ([path, users]) => {
    const result = await check(path, tools);
    return users.flatMap((use) => settle(use, result, textOf));
  });
  return [...(await Promise.all(checked)).flat(), ...equalContents(uses, textOf)];
}

/**
 * Entries of one list whose files have the same content. A service may take both for one file, and a list holds a file once:
 * whether two of them can be attached must not depend on the service or on what was uploaded before.
 */
function equalContents(uses: readonly SourceUse[], textOf: TextOf): Diagnostic[] {
  const first = new Map<string, SourceUse>();
  return uses.flatMap((use) => {
    const { attachment, file, path, span } = use;
    if (attachment?.content === undefined) return [];
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

function settle(use: SourceUse, result: CheckedSource, textOf: TextOf): Diagnostic[] {
  if ("problem" in result) {
    const address = use.attachment === undefined ? {} : { address: formatAddress(use.attachment.address) };
    return [textOf(use.file).diagnose({ ...result.problem, ...address, span: use.span })];
  }
  if (result.content !== undefined && use.attachment !== undefined) use.attachment.content = result.content;
  return [];
}

interface CheckTools {
  readonly root: string;
  readonly paths: RealPaths;
  readonly hash: ((real: string) => Promise<SourceContent>) | undefined;
  readonly signal: AbortSignal | undefined;
}

async function check(path: string, { root, paths, hash, signal }: CheckTools): Promise<CheckedSource> {
  try {
    const real = paths.of(join(root, path));
    if (!paths.contains(real)) return { problem: outside(path) };
    const stats = lstatSync(real);
    if (!stats.isFile()) return { problem: notAFile(path, stats) };
    if (stats.size === 0) return { problem: empty(path) };
    if (stats.size < largestPointer && isPointer(real)) return { problem: pointer(path) };
    return hash === undefined ? {} : { content: await hash(real) };
  } catch (error) {
    signal?.throwIfAborted();
    return { problem: unreadable(path, error) };
  }
}

function outside(path: string): SourceProblem {
  return {
    code: "source-outside-workspace",
    message: `The source ${quote(path)} is a link that leads out of the workspace`,
    hint: "Copy the file into the workspace; only files below the folder of draftsync.yaml are uploaded.",
  };
}

function notAFile(path: string, stats: Stats): SourceProblem {
  const kind = stats.isDirectory() ? "a folder" : stats.isFIFO() ? "a pipe" : "a device or socket";
  return {
    code: "source-not-a-file",
    message: `The source ${quote(path)} is ${kind}, not a file`,
    hint: "Name a regular file; each file has an entry of its own.",
  };
}

function empty(path: string): SourceProblem {
  return {
    code: "source-empty",
    message: `The source ${quote(path)} is empty`,
    hint: "Nothing of it could be sold; put its content in place, or remove the entry.",
  };
}

/** A checkout without Git LFS has small text files in place of the real ones (git-lfs, docs/spec.md). */
function isPointer(real: string): boolean {
  return readFileSync(real, "latin1").startsWith("version https://git-lfs.github.com/spec/");
}

/** Bytes. */
const largestPointer = 1024;

function pointer(path: string): SourceProblem {
  return {
    code: "source-is-lfs-pointer",
    message: `The source ${quote(path)} is a Git LFS pointer, not the file itself`,
    hint: "Run `git lfs pull`. In a pipeline, check out with Git LFS, such as `lfs: true` of actions/checkout.",
  };
}

function unreadable(path: string, error: unknown): SourceProblem {
  const code = systemCodeOf(error);
  if (code === "ENOENT" || code === "ENOTDIR") {
    return {
      code: "source-missing",
      message: `The source ${quote(path)} is not there`,
      hint: "The path is relative to the manifest's folder and case counts; here it is shown relative to the workspace.",
    };
  }
  if (code === "source-changed") {
    return {
      code,
      message: `The source ${quote(path)} changed while it was read`,
      hint: "Run again when nothing writes to it.",
    };
  }
  return {
    code: "source-unreadable",
    message: `The source ${quote(path)} cannot be read: ${messageOf(error)}`,
    hint: fileHint(error, "Check its permissions and its links."),
  };
}
