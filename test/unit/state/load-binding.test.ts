import { expect, test } from "vitest";
import { libcOf, loadBinding } from "../../../src/state/sqlite/load-binding.ts";

test.each([
  { system: "Debian", interpreter: "/lib64/ld-linux-x86-64.so.2", libc: "gnu" },
  { system: "Debian on ARM", interpreter: "/lib/ld-linux-aarch64.so.1", libc: "gnu" },
  { system: "NixOS", interpreter: "/nix/store/3n58-glibc-2.38/lib/ld-linux-x86-64.so.2", libc: "gnu" },
  { system: "Alpine", interpreter: "/lib/ld-musl-x86_64.so.1", libc: "musl" },
  { system: "Alpine on ARM", interpreter: "/lib/ld-musl-aarch64.so.1", libc: "musl" },
  { system: "a program without an interpreter", interpreter: "", libc: undefined },
])("the C library of $system is $libc", ({ interpreter, libc }) => {
  expect(libcOf(`\x7fELF\x02\x01\x01\0\0\0@\0${interpreter}\0\x04\0\0\0GNU\0`)).toBe(libc);
});

test("the module that is loaded is the one that libsql loads", async () => {
  const binding = loadBinding();
  expect(binding).toMatchObject({ databaseOpen: expect.any(Function) });
});
