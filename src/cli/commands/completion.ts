import { Argument } from "commander";
import { type DefineCommand, examples } from "../cli.ts";

/**
 * The script of each shell. It passes the line to `draftsync __complete` and shows the candidates, so it stays the same when
 * commands change, and it evaluates none of them. The first line of the response is `Completion.kind`.
 */
const scripts = {
  bash: `# draftsync completion for bash. Load it with:  source <(draftsync completion bash)
_draftsync() {
  local kind='' line
  COMPREPLY=()
  while IFS= read -r line; do
    if [ -z "$kind" ]; then kind=$line; else COMPREPLY+=("$line"); fi
  done < <(draftsync __complete bash -- "\${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" 2>/dev/null)
  case $kind in
    files) compopt -o default 2>/dev/null ;;
    folders) compopt -o dirnames 2>/dev/null ;;
    nospace) compopt -o nospace 2>/dev/null ;;
  esac
}
complete -F _draftsync draftsync
`,
  zsh: `#compdef draftsync
# draftsync completion for zsh. Load it with:  source <(draftsync completion zsh)
# or write it to a file _draftsync in a folder of $fpath.
_draftsync() {
  local -a lines values texts
  local kind line
  lines=("\${(@f)$(draftsync __complete zsh -- "\${(@Q)words[2,CURRENT-1]}" "\${(Q)PREFIX}" 2>/dev/null)}")
  kind=$lines[1]
  for line in "\${(@)lines[2,-1]}"; do
    values+=("\${line%%$'\\t'*}")
    texts+=("\${line/$'\\t'/  -- }")
  done
  case $kind in
    files) _files ;;
    folders) _files -/ ;;
    nospace) compadd -S '' -l -d texts -a values ;;
    *) compadd -l -d texts -a values ;;
  esac
}
if [ "$funcstack[1]" = "_draftsync" ]; then _draftsync "$@"; else compdef _draftsync draftsync; fi
`,
  fish: `# draftsync completion for fish. Load it with:  draftsync completion fish | source
# or write it to ~/.config/fish/completions/draftsync.fish
function __draftsync_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    set -l plain (string unescape -- $word)
    set -q plain[1]; or set plain "$word"
    set -l lines (draftsync __complete fish -- $words[2..-1] "$plain" 2>/dev/null)
    switch "$lines[1]"
        case files
            __fish_complete_path "$word"
        case folders
            __fish_complete_directories "$word"
        case '*'
            printf '%s\\n' $lines[2..-1]
    end
end
complete -c draftsync -f -a '(__draftsync_complete)'
`,
} as const;

/** `draftsync completion` */
export const defineCompletion: DefineCommand = (program, cli) => {
  program
    .command("completion")
    .summary("print the completion script of a shell")
    .description(
      "Prints a script that completes commands, flags, their values, files, and the addresses of the workspace.",
    )
    .addArgument(new Argument("<shell>", "your shell").choices(Object.keys(scripts)))
    .addHelpText(
      "after",
      examples(
        "source <(draftsync completion bash)         in ~/.bashrc",
        "source <(draftsync completion zsh)          in ~/.zshrc, after compinit",
        "draftsync completion fish > ~/.config/fish/completions/draftsync.fish",
      ),
    )
    .action((shell: keyof typeof scripts) => cli.terminal.out(scripts[shell]));
};
