/**
 * Ends the process now, whatever it is in the middle of. On exit Node waits for file operations that are under way, which
 * is for ever when one hangs (a pipe nobody writes to, a file server that is gone). So the process ends by SIGINT, which
 * shells report as exit code 130, once all that listens for its exit has run. Where the signal cannot end it (the first
 * process of a container, Windows), it exits with `code`.
 */
export function endProcess(code: number): never {
  process.once("exit", () => {
    if (process.platform === "win32") return;
    process.removeAllListeners("SIGINT");
    process.kill(process.pid, "SIGINT");
  });
  process.exit(code);
}
