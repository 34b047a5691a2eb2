import { closeSync, openSync, readSync } from "node:fs";
import { createRequire } from "node:module";

/** libsql's own way of telling which of its packages fits this machine. */
interface Loader {
  currentTarget(): string;
}

/**
 * Loads libsql's native module, in the bundled program in place of libsql's own code. That asks Node for a report on the
 * whole process to tell the C library of a Linux, which takes as long as a plan takes to be made; the head of Node's own
 * file says the same. Where it does not, or the package that it leads to is not there, libsql's way is taken.
 * Throws what `require` throws when no package fits.
 */
export function loadBinding(): unknown {
  const load = createRequire(createRequire(import.meta.url).resolve("libsql"));
  try {
    const target = likelyTarget();
    if (target !== undefined) return load(`@libsql/${target}`);
  } catch {
    // The error of libsql's way says more.
  }
  const loader: Loader = createRequire(load.resolve("@neon-rs/load"))("@neon-rs/load");
  return load(`@libsql/${loader.currentTarget()}`);
}

/** Of a Linux; elsewhere nothing has to be found out. */
function likelyTarget(): string | undefined {
  const { platform, arch, execPath } = process;
  return platform === "linux" ? linuxTarget(arch, headOf(execPath)) : undefined;
}

/** What libsql calls a Linux, by the processor and the head of a program that runs there; `undefined` when that says too little. */
export function linuxTarget(arch: string, head: string): string | undefined {
  const libc = libcOf(head);
  if (libc === undefined) return undefined;
  return arch === "arm" ? `linux-arm-${libc}eabihf` : `linux-${arch}-${libc}`;
}

/** The C library that a program is linked to, by the name of its interpreter (elf(5), PT_INTERP). */
function libcOf(head: string): "gnu" | "musl" | undefined {
  if (head.includes("/ld-musl-")) return "musl";
  return head.includes("/ld-linux-") ? "gnu" : undefined;
}

/** The interpreter's name comes right after the headers. */
function headOf(file: string): string {
  const descriptor = openSync(file, "r");
  try {
    const bytes = Buffer.alloc(4096);
    return bytes.toString("latin1", 0, readSync(descriptor, bytes, 0, bytes.length, 0));
  } finally {
    closeSync(descriptor);
  }
}
