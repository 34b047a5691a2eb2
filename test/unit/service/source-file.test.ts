import { execFileSync } from "node:child_process";
import { appendFile, mkdir, rename, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openSource } from "../../../src/service/source-file.ts";
import { closeAfterTest } from "./support/harness.ts";
import { makeContent, makeFolder, planned, planSource } from "./support/workspace.ts";

const content = makeContent(2_500_000);

describe("openSource", () => {
  it("reads the planned bytes, whole or in chunks", async () => {
    const root = await makeFolder();
    const source = await openSource(root, await planSource(root, "a.bin", content));
    closeAfterTest(() => source.close());
    expect((await source.readAll()).equals(content)).toBe(true);
    const chunks: Buffer[] = [];
    for await (const chunk of source.readChunks()) chunks.push(chunk);
    expect(Buffer.concat(chunks).equals(content)).toBe(true);
    expect(chunks.length).toBeGreaterThan(1);
  });

  it("reads an empty file", async () => {
    const root = await makeFolder();
    const source = await openSource(root, await planSource(root, "empty", Buffer.alloc(0)));
    closeAfterTest(() => source.close());
    expect((await source.readAll()).length).toBe(0);
  });

  it("follows a link inside the workspace", async () => {
    const root = await makeFolder();
    const file = await planSource(root, "a.bin", content);
    await symlink("a.bin", join(root, "link.bin"));
    const source = await openSource(root, { ...file, source: "link.bin" });
    closeAfterTest(() => source.close());
    expect((await source.readAll()).equals(content)).toBe(true);
  });

  it.each([
    ["a missing file", "none.bin", "source-missing"],
    ["a folder", "folder", "source-not-a-file"],
    ["a file outside", "../outside.bin", "source-outside-workspace"],
    ["a link that leads outside", "leak", "source-outside-workspace"],
    ["a folder link that leads outside", "out/outside.bin", "source-outside-workspace"],
    ["a FIFO", "fifo", "source-not-a-file"],
    ["a device", "device", "source-outside-workspace"],
    ["a path through a file", "a.bin/b", "source-missing"],
  ])("rejects %s", async (_name, path, code) => {
    const parent = await makeFolder();
    const root = join(parent, "root");
    await mkdir(join(root, "folder"), { recursive: true });
    await writeFile(join(parent, "outside.bin"), content);
    await writeFile(join(root, "a.bin"), content);
    await symlink(join(parent, "outside.bin"), join(root, "leak"));
    await symlink(parent, join(root, "out"));
    await symlink("/dev/zero", join(root, "device"));
    execFileSync("mkfifo", [join(root, "fifo")]);
    await expect(openSource(root, planned(path, content))).rejects.toMatchObject({
      name: "SourceError",
      code,
    });
  });

  it.each([
    ["longer", (path: string) => appendFile(path, "x")],
    ["shorter", (path: string) => truncate(path, 10)],
    ["another file of the same size", (path: string) => writeFile(path, Buffer.alloc(content.length))],
  ])("rejects a planned file that is now %s", async (_name, change) => {
    const root = await makeFolder();
    const file = await planSource(root, "a.bin", content);
    await change(join(root, "a.bin"));
    const read = async () => {
      const source = await openSource(root, file);
      closeAfterTest(() => source.close());
      await source.readAll();
    };
    await expect(read()).rejects.toMatchObject({ code: "source-changed" });
  });

  it.each([
    ["longer", (path: string) => appendFile(path, "x")],
    ["shorter", (path: string) => truncate(path, 1_500_000)],
    ["rewritten at its end", (path: string) => truncate(path, 2_499_999).then(() => appendFile(path, "?"))],
  ])("withholds the last bytes of a file that becomes %s while it is read", async (_name, change) => {
    const root = await makeFolder();
    const source = await openSource(root, await planSource(root, "a.bin", content));
    closeAfterTest(() => source.close());
    let given = 0;
    const read = async () => {
      for await (const chunk of source.readChunks()) {
        if (given === 0) await change(join(root, "a.bin"));
        given += chunk.length;
      }
    };
    await expect(read()).rejects.toMatchObject({ code: "source-changed" });
    expect(given).toBeLessThan(content.length);
  });

  it("rejects a file that grows as fast as it is read", async () => {
    const root = await makeFolder();
    const source = await openSource(root, await planSource(root, "a.bin", content));
    closeAfterTest(() => source.close());
    let chunks = 0;
    const read = async () => {
      for await (const chunk of source.readChunks()) {
        chunks += 1;
        await appendFile(join(root, "a.bin"), chunk);
      }
    };
    await expect(read()).rejects.toMatchObject({ code: "source-changed" });
    expect(chunks).toBeLessThan(5);
  });

  it("reads the opened file after another one replaces it", async () => {
    const root = await makeFolder();
    const source = await openSource(root, await planSource(root, "a.bin", content));
    closeAfterTest(() => source.close());
    await rename(join(root, "a.bin"), join(root, "b.bin"));
    await rm(join(root, "b.bin"));
    await symlink("/dev/zero", join(root, "a.bin"));
    expect((await source.readAll()).equals(content)).toBe(true);
  });
});
