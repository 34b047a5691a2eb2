const wildcard = /[*?[\]{}()!\\]/;

/** The pattern of all manifests in a folder and below, as the config's default has it. */
export const allManifests = "**/*.{yaml,yml}";

/** Whether a name is that of a YAML file. */
export function isYamlName(name: string): boolean {
  return /\.ya?ml$/i.test(name);
}

/** Whether a pattern excludes what it matches. */
export function isExclusion(pattern: string): boolean {
  return pattern.startsWith("!") && !pattern.startsWith("!(");
}

/** A pattern that is absolute or goes up. `..` inside of braces counts too; as a range (`{1..3}`) it is no step up. */
export function leavesWorkspace(pattern: string): boolean {
  const positive = pattern.replace(/^!/, "");
  return /^(?:[/\\]|[A-Za-z]:)/.test(positive) || /(?:^|[/\\{,(|])\.\.(?:$|[/\\},)|])/.test(positive);
}

/** Whether a pattern has no wildcards, so that it names one file. */
export function isLiteral(pattern: string): boolean {
  return !wildcard.test(pattern);
}

/** The folder that everything a pattern can match is below, without wildcards: `m/a` of `m/a/**`, "" of `*.yaml`. */
export function folderOf(pattern: string): string {
  const names = withoutDot(pattern).split("/").slice(0, -1);
  const end = names.findIndex((name) => wildcard.test(name));
  return names.slice(0, end < 0 ? names.length : end).join("/");
}

/**
 * One pattern for each folder that braces name, and for each file where there is no wildcard: `{a,b}/*.yaml` and
 * `{a,b}.yaml` are two each, which must all match something. Endings in braces are kept.
 */
export function withoutBraces(pattern: string): readonly string[] {
  const braces = isLiteral(pattern.replace(/[{}]/g, "")) ? bracesOfNames : bracesOfFolders;
  const [, before = "", list, after = ""] = braces.exec(pattern) ?? [];
  if (list === undefined) return [pattern];
  return list.split(",").flatMap((name) => withoutBraces(`${before}${name}${after}`));
}

/** Innermost braces that list names, with a slash after them. */
const bracesOfFolders = /^([^\\]*?)\{([^{}\\]*,[^{}\\]*)\}([^\\]*\/.*)$/;
/** Innermost braces that list names, other than the two endings. */
const bracesOfNames = /^(.*?)\{(?!yaml,yml\}$|yml,yaml\}$)([^{}]*,[^{}]*)\}(.*)$/;

/** A pattern that also matches the other ending of YAML files, where it ends in one. */
export function withBothEndings(pattern: string): string {
  return pattern.replace(/\.ya?ml$/, ".{yaml,yml}");
}

/** A path or pattern without the `./` that it may start with. */
export function withoutDot(path: string): string {
  return path.replace(/^\.\//, "");
}
