import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { StoredSource } from "../../../../src/model/ports.ts";
import { closeAfterTest } from "./harness.ts";

/** An empty folder, removed after the test. */
export async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "draftsync-service-"));
  closeAfterTest(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Writes a file and returns its planned source. */
export async function planSource(root: string, source: string, content: Buffer): Promise<StoredSource> {
  await writeFile(join(root, source), content);
  return planned(source, content);
}

/** The planned source of a file with that content. */
export function planned(source: string, content: Buffer): StoredSource {
  const sha256 = createHash("sha256").update(content).digest("hex");
  return { source, sha256, size: content.length };
}

/** Varied, deterministic bytes. */
export function makeContent(size: number): Buffer {
  const content = Buffer.alloc(size);
  for (let index = 0; index < size; index += 1) content[index] = (index * 31 + (index >> 13)) & 0xff;
  return content;
}
