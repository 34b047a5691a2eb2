import type { Diagnostic } from "../model/diagnostic.ts";
import { fileHint, messageOf, systemCodeOf } from "../model/errors.ts";
import type { SourceLocation } from "../model/source-location.ts";
import { allManifests } from "./glob-pattern.ts";
import { quote } from "./source-text.ts";

/** A pattern that names something outside of the workspace. */
export function outsidePattern(pattern: string, place: SourceLocation | undefined): Diagnostic {
  return {
    severity: "error",
    code: "pattern-outside-workspace",
    message: `The pattern ${quote(pattern)} leads out of the workspace`,
    hint: "Write it from the workspace folder downwards, without .. and without a leading slash.",
    ...(place === undefined ? {} : { place }),
  };
}

/** A link to something outside of the workspace. */
export function outsideFile(file: string): Diagnostic {
  return {
    severity: "error",
    code: "manifest-outside-workspace",
    message: `${quote(file)} is a link that leads out of the workspace`,
    hint: "Put the manifests into the workspace, or exclude the link with a pattern that starts with !.",
    place: { file, line: 1, column: 1 },
  };
}

/** A file or folder that cannot be read. */
export function unreadable(what: string, error: unknown): Diagnostic {
  return {
    severity: "error",
    code: "manifest-unreadable",
    message: `Cannot read ${what}: ${reasonOf(error)}`,
    hint: fileHint(
      error,
      "Make it readable, remove it, or exclude it with a pattern that starts with !. Manifests that cannot be read would count as removed.",
    ),
  };
}

/** Without the path, which may be a longer one than the user knows. */
function reasonOf(error: unknown): string {
  const code = systemCodeOf(error);
  if (code === "ENOENT" || code === "ELOOP") return "it does not exist, or is a link that leads nowhere";
  if (code === "EACCES" || code === "EPERM") return "permission denied";
  return messageOf(error).replace(/^(E[A-Z]+: [^,]*),.*$/, "$1");
}

/** A pattern that matches nothing. `missing`: the folder that it starts with, where that does not exist. */
export interface UnmatchedPattern {
  readonly pattern: string;
  readonly place: SourceLocation | undefined;
  readonly isLiteral: boolean;
  readonly isFolder: boolean;
  readonly missing: string | undefined;
  /** A folder that exists and has a similar name. */
  readonly similar: string | undefined;
}

/** An error for {@link UnmatchedPattern}: a renamed folder must not look like drafts that were removed. */
export function unmatchedPattern(unmatched: UnmatchedPattern): Diagnostic {
  const { pattern, place, missing, similar } = unmatched;
  const base = { severity: "error", ...(place === undefined ? {} : { place }) } as const;
  if (missing !== undefined && (!unmatched.isLiteral || similar !== undefined)) {
    return {
      ...base,
      code: "no-manifests",
      message: `The folder ${quote(missing)} of the pattern ${quote(pattern)} does not exist`,
      hint:
        similar === undefined
          ? "Correct the pattern, or remove it when its manifests are gone."
          : `Did you mean ${quote(similar)}?`,
    };
  }
  if (unmatched.isLiteral) {
    return {
      ...base,
      code: "manifest-missing",
      message: unmatched.isFolder
        ? `${quote(pattern)} is a folder, not a manifest`
        : `The manifest ${quote(pattern)} does not exist`,
      hint: unmatched.isFolder
        ? `For all manifests in it write ${quote(`${pattern.replace(/\/$/, "")}/${allManifests}`)}.`
        : "Create it, or remove it from `manifests` in the config.",
    };
  }
  return {
    ...base,
    code: "no-manifests",
    message: `No file matches ${quote(pattern)}`,
    hint: `Correct or remove the pattern. It is relative to the workspace folder, such as "manifests/${allManifests}"; hidden files and node_modules are left out.`,
  };
}

/** No pattern at all. */
export const noPatterns: Diagnostic = {
  severity: "error",
  code: "no-manifests",
  message: "No pattern for manifests is given",
  hint: `Write one, such as "manifests/${allManifests}".`,
};

const maxNames = 3;

/** YAML files next to manifests that no pattern matches: renaming a manifest must not remove what it declares. */
export function unmatchedFiles(files: readonly string[]): Diagnostic {
  const [file = ""] = files;
  const names = files.slice(0, maxNames).map((name) => quote(name));
  const more = files.length - names.length;
  const one = files.length === 1;
  return {
    severity: "warning",
    code: "manifest-unmatched",
    message: one
      ? `No pattern matches ${quote(file)}, so it is not read`
      : `No pattern matches ${files.length} YAML files, so they are not read: ${names.join(", ")}${more > 0 ? `, and ${more} more` : ""}`,
    hint: `Correct \`manifests\` in the config ("${allManifests}" matches both endings), or exclude ${one ? "it" : "them"} with a pattern that starts with !.`,
    place: { file, line: 1, column: 1 },
  };
}
