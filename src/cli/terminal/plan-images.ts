import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { open, realpath } from "node:fs/promises";
import { join, sep } from "node:path";
import { parseAddress } from "../../model/address.ts";
import type { Change } from "../../model/change.ts";
import type { Plan } from "../../model/plan.ts";
import type { Thumbnail } from "../../report/html/plan-page.ts";
import { formatBytes } from "../../report/quantities.ts";

/** Bytes of one picture, and of all pictures of a page together; what is larger is named, not shown. */
const maxImageBytes = 200_000;
const maxTotalBytes = 5_000_000;

/**
 * The promotional pictures that a plan names, by the address of their change. Only files within `root` (the workspace,
 * absolute) that still have the digest of the plan and begin as a PNG, JPEG, GIF or WebP does: what a file is called says
 * nothing. Without a root none can be found.
 */
export async function loadThumbnails(
  plan: Plan,
  root: string | undefined,
): Promise<ReadonlyMap<string, Thumbnail>> {
  const thumbnails = new Map<string, Thumbnail>();
  const known = new Map<string, Thumbnail>();
  const folder = root === undefined ? undefined : await realpath(root);
  let room = maxTotalBytes;
  for (const change of plan.changes) {
    const picture = pictureOf(change);
    if (picture === undefined) continue;
    const key = `${picture.sha256} ${picture.source}`;
    let thumbnail = known.get(key);
    if (thumbnail === undefined) {
      const loaded = await loadThumbnail(picture, folder, room);
      thumbnail = loaded.thumbnail;
      known.set(key, thumbnail);
      room -= loaded.size;
    }
    thumbnails.set(change.address, thumbnail);
  }
  return thumbnails;
}

interface Picture {
  readonly source: string;
  readonly sha256: string;
}

function pictureOf({ address, after }: Change): Picture | undefined {
  const parsed = parseAddress(address);
  if (parsed?.type !== "attachment" || parsed.kind !== "promotional_files") return undefined;
  if (after === null || !("source" in after) || after.source === undefined || after.sha256 === undefined)
    return undefined;
  const { source, sha256 } = after;
  return /\.(png|jpe?g|gif|webp)$/i.test(source) ? { source, sha256 } : undefined;
}

interface Loaded {
  readonly thumbnail: Thumbnail;
  /** Bytes that it takes of the room. */
  readonly size: number;
}

async function loadThumbnail(
  { source, sha256 }: Picture,
  folder: string | undefined,
  room: number,
): Promise<Loaded> {
  const missing = (text: string) => ({ thumbnail: { missing: text }, size: 0 });
  if (folder === undefined) return missing("the workspace was not found");
  try {
    const path = await realpath(join(folder, source));
    if (!path.startsWith(folder + sep)) return missing("it is outside the workspace");
    const bytes = await readSmall(path);
    if (typeof bytes === "string") return missing(bytes);
    if (createHash("sha256").update(bytes).digest("hex") !== sha256)
      return missing("the file differs from the plan");
    const type = typeOf(bytes);
    if (type === undefined) return missing("it is not a PNG, JPEG, GIF or WebP image");
    if (bytes.length > room)
      return missing(`the pictures on this page already take ${formatBytes(maxTotalBytes)}`);
    return { thumbnail: { dataUrl: `data:${type};base64,${bytes.toString("base64")}` }, size: bytes.length };
  } catch {
    return missing("the file cannot be read");
  }
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
