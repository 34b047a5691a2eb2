/** A shell that completion is written for. */
export type Shell = keyof typeof scripts;

/**
 * What each shell reads. The scripts know nothing of commands: they hand over the line and show what comes back, so they
 * do not age. Nothing that comes back is evaluated. The first line says what to do with the rest (`Completion.kind`).
 */
export const scripts = {
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

/** The shells, by name. */
export const shells = ["bash", "zsh", "fish"] as const satisfies readonly Shell[];
