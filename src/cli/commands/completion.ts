import { Argument } from "commander";
import type { DefineCommand } from "../cli.ts";
import { examples } from "../cli.ts";
import { type Shell, scripts, shells } from "../completion/scripts.ts";

/** `draftsync completion` */
export const defineCompletion: DefineCommand = (program, cli) => {
  program
    .command("completion")
    .summary("print the completion script of a shell")
    .description(
      "Prints a script that completes commands, flags, their values, files, and the addresses of the workspace.",
    )
    .addArgument(new Argument("<shell>", "which one").choices(shells))
    .addHelpText(
      "after",
      examples(
        "source <(draftsync completion bash)         in ~/.bashrc",
        "source <(draftsync completion zsh)          in ~/.zshrc, after compinit",
        "draftsync completion fish > ~/.config/fish/completions/draftsync.fish",
      ),
    )
    .action((shell: Shell) => cli.terminal.out(scripts[shell]));
};
