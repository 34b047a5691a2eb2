import { randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";

/** Bytes under generated names. */
export interface Blobs {
  /** Stores all bytes of a source and returns their name; stores nothing when the source fails. */
  write(source: AsyncIterable<Uint8Array>): Promise<string>;
  read(name: string): AsyncIterable<Uint8Array>;
  /** Names that are missing are ignored. */
  remove(names: readonly string[]): Promise<void>;
}

/** Blobs in the folder next to a database file; in memory without a file. */
export function openBlobs(databaseFile: string | undefined): Blobs {
  return databaseFile === undefined ? openMemoryBlobs() : openDiskBlobs(`${databaseFile}.objects`);
}

function openDiskBlobs(folder: string): Blobs {
  const remove = (name: string) => rm(join(folder, name), { force: true });
  return {
    async write(source) {
      const name = randomUUID();
      await mkdir(folder, { recursive: true });
      try {
        await writeFile(join(folder, name), source, { flag: "wx" });
      } catch (error) {
        await remove(name);
        throw error;
      }
      return name;
    },
    read: (name) => createReadStream(join(folder, name)),
    async remove(names) {
      for (const name of names) await remove(name);
    },
  };
}

function openMemoryBlobs(): Blobs {
  const blobs = new Map<string, Buffer>();
  return {
    async write(source) {
      const name = randomUUID();
      blobs.set(name, await buffer(source));
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
