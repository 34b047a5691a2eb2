import { exitCode } from "./exit-code.ts";

/**
 * Ends the process now, whatever it is in the middle of. On exit Node waits for file operations and names that are being
 * looked up, which is for ever when one hangs (a pipe nobody writes to, a file server that is gone). So an interrupted process
 * ends by SIGINT, which shells report as exit code 130, once all that listens for its exit has run. Where the signal cannot
 * end it (the first process of a container, Windows), and with another code, it exits with `code`; the next signal ends it
 * then.
 */
export function endProcess(code: number): never {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.removeAllListeners(signal);
  process.once("exit", () => {
    if (process.platform !== "win32" && code === exitCode.interrupted) process.kill(process.pid, "SIGINT");
  });
  process.exit(code);
}
