import { expect, test } from "vitest";
import { expectNoKey } from "../support/canary.ts";
import { makeFolder } from "../support/cli.ts";

const key = "canary-key-1";

test.each([
  ["in plain text", `a ${key}`],
  ["percent-encoded", "%63%61%6e%61%72%79%2d%6b%65%79%2d%31"],
  ["in hex", Buffer.from(`Token ${key}`).toString("hex")],
  ["in upper-case hex", Buffer.from(key).toString("hex").toUpperCase()],
  ["in Base64", Buffer.from(`${key}:`).toString("base64")],
  ["in Base64 after one letter", Buffer.from(`a${key}`).toString("base64")],
  ["in Base64 after two letters", Buffer.from(`ab${key}`).toString("base64url")],
])("finds the key %s", (_form, text) => {
  expect(() => expectNoKey(text, "a test")).toThrow("the key is in a test");
});

test("fails when a disposed folder contains the key in a file that the test did not write", async () => {
  const folder = await makeFolder({ "key.txt": key });
  await folder.dispose();
  const other = await makeFolder({ "a/given.txt": key });
  const { writeFile } = await import("node:fs/promises");
  await writeFile(`${other.path}/a/other.log`, Buffer.concat([Buffer.from([255, 0]), Buffer.from(key)]));
  await expect(other.dispose()).rejects.toThrow(/the key is in .*other\.log/);
});
