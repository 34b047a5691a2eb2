import { type Command, Option } from "commander";
import type { LogSettings } from "./terminal.ts";

/** Adds the flags that every command has: what it tells on standard error, and how. `adjust` is called as they are read. */
export function withLogFlags(program: Command, adjust: (settings: Partial<LogSettings>) => void): Command {
  return program
    .addOption(new Option("--quiet", "print results, warnings and errors only").conflicts("verbose"))
    .addOption(new Option("--verbose", "print every call: method, path, status and time"))
    .addOption(
      new Option("--log-format <format>", "format of standard error: text, or one JSON object a line")
        .choices(["text", "json"])
        .default("text"),
    )
    .on("option:quiet", () => adjust({ verbosity: "quiet" }))
    .on("option:verbose", () => adjust({ verbosity: "verbose" }))
    .on("option:log-format", (format: string) => adjust({ format: format === "json" ? "json" : "text" }));
}
