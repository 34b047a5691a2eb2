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

/** One pattern for each folder that braces name: `{a,b}/*.yaml` is two, each of which must match something. */
export function withFolders(pattern: string): readonly string[] {
  const [, before = "", names, after = ""] =
    /^([^{}\\]*)\{([^{}\\]*,[^{}\\]*)\}([^\\]*\/.*)$/.exec(pattern) ?? [];
  if (names === undefined) return [pattern];
  return names.split(",").flatMap((name) => withFolders(`${before}${name}${after}`));
}

/** A path or pattern without the `./` that it may start with. */
export function withoutDot(path: string): string {
  return path.replace(/^\.\//, "");
}
