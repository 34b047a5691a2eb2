import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { open, realpath } from "node:fs/promises";
import { join, sep } from "node:path";
import { promisify } from "node:util";
import { parseAddress } from "../../model/address.ts";
import type { Change } from "../../model/change.ts";
import type { Diagnostic } from "../../model/diagnostic.ts";
import type { Plan } from "../../model/plan.ts";
import { systemClock } from "../../model/ports.ts";
import { formatPlanPage, type Thumbnail, type Thumbnails } from "../../report/html/plan-page.ts";
import { viewPlan } from "../../report/plan-view.ts";
import { formatBytes } from "../../report/quantities.ts";
import { loadPageAssets } from "./page-assets.ts";

interface PlanPageOptions {
  readonly root: string | undefined;
  /** For links to manifests. */
  readonly sourceUrl: string | undefined;
  readonly refusals: readonly Diagnostic[];
}

/** A plan as one HTML page, with the pictures that are found below `root`, the absolute folder of its workspace. */
export async function makePlanPage(
  plan: Plan,
  { root, sourceUrl, refusals }: PlanPageOptions,
): Promise<string> {
  const now = systemClock.now();
  const thumbnails = await loadThumbnails(plan, root);
  const view = viewPlan(plan, now);
  return formatPlanPage(
    { view, planId: plan.plan_id, now, thumbnails, sourceUrl, refusals },
    await loadPageAssets(),
  );
}

const run = promisify(execFile);

/** Bytes of one picture, and of all pictures of a page together; what is larger is named, not shown. */
const maxImageBytes = 200_000;
const maxTotalBytes = 5_000_000;

/** Each former picture takes several calls of git; of more than so many, a page shows the new ones only. */
const maxFormer = 40;
const maxVersions = 20;

/**
 * The promotional pictures that a plan names, by the address of their change. Only files within `root` (the workspace,
 * absolute) that still have the digest of the plan and begin as a PNG, JPEG, GIF or WebP does: what a file is called says
 * nothing. Without a root none can be found. The picture that is replaced or detached comes from the history of git.
 */
async function loadThumbnails(
  plan: Plan,
  root: string | undefined,
): Promise<ReadonlyMap<string, Thumbnails>> {
  const thumbnails = new Map<string, Thumbnails>();
  const known = new Map<string, Thumbnail | undefined>();
  const folder = root === undefined ? undefined : await realpath(root);
  let room = maxTotalBytes;
  let formerLeft = maxFormer;
  const load = async (picture: Picture | undefined, from: PictureReader) => {
    if (picture === undefined) return undefined;
    const key = `${picture.sha256} ${picture.source}`;
    if (known.has(key)) return known.get(key);
    const read = await from(picture, folder);
    const thumbnail = Buffer.isBuffer(read) ? thumbnailOf(read, picture, room) : read;
    known.set(key, thumbnail);
    if (Buffer.isBuffer(read) && thumbnail !== undefined && "dataUrl" in thumbnail) room -= read.length;
    return thumbnail;
  };
  for (const { address, before, after } of plan.changes) {
    const next = pictureOf(address, after);
    const former = pictureOf(address, before);
    const isReplaced = former !== undefined && former.sha256 !== next?.sha256 && formerLeft > 0;
    if (isReplaced) formerLeft -= 1;
    const shown = {
      after: await load(next, readInWorkspace),
      before: isReplaced ? await load(former, readInGit) : undefined,
    };
    if (shown.after !== undefined || shown.before !== undefined) thumbnails.set(address, shown);
  }
  return thumbnails;
}

interface Picture {
  readonly source: string;
  readonly sha256: string;
}

/** The bytes of a picture, not yet checked, or why there are none; `undefined`: there is nothing to say about it. */
type PictureReader = (
  picture: Picture,
  folder: string | undefined,
) => Promise<Buffer | { readonly missing: string } | undefined>;

function pictureOf(address: string, state: Change["before"] | Change["after"]): Picture | undefined {
  const parsed = parseAddress(address);
  if (parsed?.type !== "attachment" || parsed.kind !== "promotional_files") return undefined;
  if (state === null || !("sha256" in state) || state.sha256 === undefined) return undefined;
  // A recorded file is named by its address alone.
  const source = state.source ?? (parsed.ref.by === "source" ? parsed.ref.source : "");
  return /\.(png|jpe?g|gif|webp)$/i.test(source) ? { source, sha256: state.sha256 } : undefined;
}

function thumbnailOf(bytes: Buffer, { sha256 }: Picture, room: number): Thumbnail {
  if (sha256Of(bytes) !== sha256) return { missing: "the file differs from the plan" };
  const type = typeOf(bytes);
  if (type === undefined) return { missing: "it is not a PNG, JPEG, GIF or WebP image" };
  if (bytes.length > room)
    return { missing: `the pictures on this page already take ${formatBytes(maxTotalBytes)}` };
  return { dataUrl: `data:${type};base64,${bytes.toString("base64")}` };
}

const readInWorkspace: PictureReader = async ({ source }, folder) => {
  if (folder === undefined) return { missing: "the workspace was not found" };
  try {
    const path = await realpath(join(folder, source));
    if (!path.startsWith(folder + sep)) return { missing: "it is outside the workspace" };
    const bytes = await readSmall(path);
    return typeof bytes === "string" ? { missing: bytes } : bytes;
  } catch {
    return { missing: "the file cannot be read" };
  }
};

/** The newest versions first; what git does not have, such as in a shallow clone, is left out. */
const readInGit: PictureReader = async ({ source, sha256 }, folder) => {
  if (folder === undefined) return undefined;
  const options = { encoding: "buffer", timeout: 5_000, maxBuffer: maxImageBytes } as const;
  const git = async (...args: string[]) =>
    (await run("git", ["-C", folder, "--literal-pathspecs", ...args], options)).stdout;
  try {
    const log = await git("log", "--full-history", `--max-count=${maxVersions}`, "--format=%H", "--", source);
    for (const commit of log.toString().split("\n").filter(Boolean)) {
      const bytes = await git("cat-file", "blob", `${commit}:./${source}`).catch(() => undefined);
      if (bytes !== undefined && sha256Of(bytes) === sha256) return bytes;
    }
  } catch {
    // No git, or no repository.
  }
  return undefined;
};

function sha256Of(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** The bytes of a regular file, or why it is not read. It is opened without waiting, so that a pipe cannot hold the process. */
async function readSmall(path: string): Promise<Buffer | string> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) return "it is not a regular file";
    if (stats.size > maxImageBytes)
      return `${formatBytes(stats.size)}, above the limit of ${formatBytes(maxImageBytes)}`;
    const bytes = Buffer.alloc(stats.size);
    const { bytesRead } = await handle.read(bytes, 0, bytes.length, 0);
    return bytes.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}

/** By the first bytes. SVG is no picture here: it may hold scripts and references. */
function typeOf(bytes: Buffer): string | undefined {
  const head = bytes.subarray(0, 12).toString("latin1");
  if (head.startsWith("\x89PNG\r\n\x1a\n")) return "image/png";
  if (head.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (head.startsWith("GIF87a") || head.startsWith("GIF89a")) return "image/gif";
  return head.startsWith("RIFF") && head.endsWith("WEBP") ? "image/webp" : undefined;
}
