import { posix } from "node:path";
import type { Desired } from "../model/desired.ts";
import type { Recorded } from "../model/recorded.ts";
import { parseScope } from "../model/scope.ts";

/**
 * Replaces each target that is not an address by the addresses of what it names:
 *
 * | target | selects |
 * |---|---|
 * | `48213` | the draft of this id |
 * | `manifests/sea-serpent.yaml` | every draft and duplicate of the manifest |
 * | `Sea Serpent` | the drafts of this title, also those that are no longer declared |
 * | `manifests/creatures/*`, `sea*` | as above, for every path or title that matches (`*`, `?`) |
 *
 * What has exactly this path, or else exactly this title, comes before what matches. Paths are relative to the workspace, or else to `folder` in it. A target that names nothing stays as it is: the plan
 * reports it.
 */
export function resolveTargets(
  targets: readonly string[],
  desired: Desired,
  { titles, folder = "." }: Pick<Recorded, "titles"> & { readonly folder?: string },
): readonly string[] {
  return targets.flatMap((target) => {
    if (/^\d+$/.test(target)) return [`drafts/${target}`];
    const paths = parseScope(target) === undefined ? [target, posix.join(folder, target)] : [target];
    return paths.map((path) => namedBy(path, desired, titles)).find((found) => found.length > 0) ?? [target];
  });
}

function namedBy(
  target: string,
  { drafts, duplicates }: Desired,
  titles: Recorded["titles"],
): readonly string[] {
  const path = posix.normalize(target.replaceAll("\\", "/"));
  const inFiles = (isFile: Matcher) => [
    ...drafts.filter(({ file }) => isFile(file)).map(({ draftId }) => `drafts/${draftId}`),
    ...duplicates.filter(({ file }) => isFile(file)).map(({ name }) => `duplicates/${name}`),
  ];
  const declared = new Set(drafts.map(({ draftId }) => draftId));
  const known = [
    ...drafts.map(({ draftId, title }) => ({ draftId, title })),
    ...[...titles].flatMap(([draftId, title]) => (declared.has(draftId) ? [] : [{ draftId, title }])),
  ];
  const titled = (isTitle: Matcher) =>
    known
      .filter(({ title }) => title !== undefined && isTitle(title))
      .map(({ draftId }) => `drafts/${draftId}`);
  const isAddress = parseScope(target) !== undefined;
  const exact = [inFiles((file) => file === path), isAddress ? [] : titled((title) => title === target)];
  const matching = () => [...inFiles(matcherOf(path)), ...(isAddress ? [] : titled(matcherOf(target)))];
  return exact.find((found) => found.length > 0) ?? [...new Set(matching())];
}

type Matcher = (text: string) => boolean;

/** `*` is any text and `?` any character; letters match in either case. */
function matcherOf(pattern: string): Matcher {
  const literal = pattern.normalize("NFC").replace(/[.+^${}()|[\]\\]/g, "\\$&");
  const expression = new RegExp(`^${literal.replace(/\*+/g, ".*").replaceAll("?", ".")}$`, "isu");
  return (text) => expression.test(text.normalize("NFC"));
}
