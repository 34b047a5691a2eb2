import { expect, test } from "vitest";
import { linuxTarget, loadBinding } from "../../../src/ledger/sqlite/load-binding.ts";
import { readText } from "../../support/source-files.ts";

test.each([
  { system: "Debian", arch: "x64", interpreter: "/lib64/ld-linux-x86-64.so.2", target: "linux-x64-gnu" },
  { system: "Debian", arch: "arm64", interpreter: "/lib/ld-linux-aarch64.so.1", target: "linux-arm64-gnu" },
  { system: "Debian", arch: "arm", interpreter: "/lib/ld-linux-armhf.so.3", target: "linux-arm-gnueabihf" },
  {
    system: "NixOS",
    arch: "x64",
    interpreter: "/nix/store/3n58-glibc-2.38/lib/ld-linux-x86-64.so.2",
    target: "linux-x64-gnu",
  },
  { system: "Alpine", arch: "x64", interpreter: "/lib/ld-musl-x86_64.so.1", target: "linux-x64-musl" },
  { system: "Alpine", arch: "arm64", interpreter: "/lib/ld-musl-aarch64.so.1", target: "linux-arm64-musl" },
  { system: "Alpine", arch: "arm", interpreter: "/lib/ld-musl-armhf.so.1", target: "linux-arm-musleabihf" },
  { system: "a static program", arch: "x64", interpreter: "", target: undefined },
])("$system on $arch is $target", ({ arch, interpreter, target }) => {
  expect(linuxTarget(arch, `\x7fELF\x02\x01\x01\0\0\0@\0${interpreter}\0\x04\0\0\0GNU\0`)).toBe(target);
});

test("every target is a package of libsql's", () => {
  const { optionalDependencies } = JSON.parse(readText("node_modules/libsql/package.json"));
  const targets = ["x64", "arm64", "arm"].flatMap((arch) =>
    ["/ld-linux-", "/ld-musl-"].map((head) => `@libsql/${linuxTarget(arch, head)}`),
  );
  expect(Object.keys(optionalDependencies)).toEqual(expect.arrayContaining(targets));
});

test("the module that is loaded is the one that libsql loads", async () => {
  const binding = loadBinding();
  expect(binding).toMatchObject({ databaseOpen: expect.any(Function) });
});
