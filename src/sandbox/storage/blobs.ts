import { randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, open, rm } from "node:fs/promises";
import { join } from "node:path";

/** Bytes under names of our own making. */
export interface Blobs {
  /** Keeps all bytes of a source and answers their name; keeps nothing when the source fails. */
  write(source: AsyncIterable<Uint8Array>): Promise<string>;
  read(name: string): AsyncIterable<Uint8Array>;
  /** Names that are gone already are fine. */
  remove(names: readonly string[]): Promise<void>;
}

/** Blobs in the folder beside a database file, streamed; in memory without one. */
export function openBlobs(databaseFile: string | undefined): Blobs {
  return databaseFile === undefined ? openMemoryBlobs() : openDiskBlobs(`${databaseFile}.objects`);
}

function openDiskBlobs(folder: string): Blobs {
  return {
    async write(source) {
      const name = randomUUID();
      await mkdir(folder, { recursive: true });
      const file = await open(join(folder, name), "wx");
      try {
        for await (const chunk of source) await file.writeFile(chunk);
      } catch (error) {
        await file.close();
        await rm(join(folder, name), { force: true });
        throw error;
      }
      await file.close();
      return name;
    },
    read: (name) => createReadStream(join(folder, name)),
    async remove(names) {
      for (const name of names) await rm(join(folder, name), { force: true });
    },
  };
}

function openMemoryBlobs(): Blobs {
  const blobs = new Map<string, Buffer>();
  return {
    async write(source) {
      const name = randomUUID();
      const chunks: Uint8Array[] = [];
      for await (const chunk of source) chunks.push(chunk);
      blobs.set(name, Buffer.concat(chunks));
      return name;
    },
    async *read(name) {
      const bytes = blobs.get(name);
      if (bytes === undefined) throw new Error(`There is no blob ${name}.`);
      yield bytes;
    },
    async remove(names) {
      for (const name of names) blobs.delete(name);
    },
  };
}
