import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { hashFile } from "../../../src/manifest/hash-file.ts";
import { workspace } from "./support.ts";

test.each([0, 1, 1024 * 1024 - 1, 1024 * 1024, 2 * 1024 * 1024 + 1])(
  "hashes a file of %d bytes",
  async (size) => {
    const bytes = Buffer.alloc(size, "draftsync ");
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    expect(await hashFile(join(workspace({ file: bytes }), "file"))).toEqual({ sha256, size });
  },
);

test("rejects a file that has more bytes than when it was opened", async () => {
  // Its size is 0, but reading it returns text.
  await expect(hashFile("/proc/self/status")).rejects.toMatchObject({ code: "source-changed" });
});

test("rejects a pipe in place of the file without waiting for a writer", async () => {
  const pipe = join(workspace({}), "pipe");
  execFileSync("mkfifo", [pipe]);
  await expect(hashFile(pipe)).rejects.toMatchObject({ code: "source-changed" });
});

test("does not follow a link in place of the file", async () => {
  const root = workspace({ file: "x" });
  symlinkSync("file", join(root, "link"));
  await expect(hashFile(join(root, "link"))).rejects.toMatchObject({ code: "ELOOP" });
});
