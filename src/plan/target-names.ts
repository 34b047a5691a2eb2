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
 * What has exactly this path, or else exactly this title, comes before what matches. Paths are relative to the workspace, or
 * else to `folder` in it. A target that names nothing stays as it is: the plan reports it.
 */
export function resolveTargets(
  targets: readonly string[],
  desired: Desired,
  { titles, folder = "." }: Pick<Recorded, "titles"> & { readonly folder?: string },
): readonly string[] {
  return targets.flatMap((target) => {
    if (/^\d+$/.test(target)) return [`drafts/${target}`];
    const isAddress = parseScope(target) !== undefined;
    const paths = isAddress ? [target] : [target, posix.join(folder, target)];
    const inFiles = (isFile: Matcher) => addressesIn(desired, isFile);
    const titled = (isTitle: Matcher) => (isAddress ? [] : addressesTitled(desired, titles, isTitle));
    const attempts = [
      ...paths.map((path) => () => inFiles((file) => file === normalize(path))),
      () => titled((title) => title === target),
      () => [...inFiles(matcherOf(normalize(target))), ...titled(matcherOf(target))],
      ...paths.slice(1).map((path) => () => inFiles(matcherOf(normalize(path)))),
    ];
    for (const attempt of attempts) {
      const found = attempt();
      if (found.length > 0) return [...new Set(found)];
    }
    return [target];
  });
}

function normalize(path: string): string {
  return posix.normalize(path.replaceAll("\\", "/"));
}

function addressesIn({ drafts, duplicates }: Desired, isFile: Matcher): readonly string[] {
  return [
    ...drafts.filter(({ file }) => isFile(file)).map(({ draftId }) => `drafts/${draftId}`),
    ...duplicates.filter(({ file }) => isFile(file)).map(({ name }) => `duplicates/${name}`),
  ];
}

/** Titles of drafts that are no longer declared are those in the ledger. */
function addressesTitled(
  { drafts }: Desired,
  titles: Recorded["titles"],
  isTitle: Matcher,
): readonly string[] {
  const declared = new Set(drafts.map(({ draftId }) => draftId));
  const known = [
    ...drafts.map(({ draftId, title }) => ({ draftId, title })),
    ...[...titles].flatMap(([draftId, title]) => (declared.has(draftId) ? [] : [{ draftId, title }])),
  ];
  return known
    .filter(({ title }) => title !== undefined && isTitle(title))
    .map(({ draftId }) => `drafts/${draftId}`);
}

type Matcher = (text: string) => boolean;

/** `*` is any text and `?` any character; letters match in either case. */
function matcherOf(pattern: string): Matcher {
  const literal = pattern.normalize("NFC").replace(/[.+^${}()|[\]\\]/g, "\\$&");
  const expression = new RegExp(`^${literal.replace(/\*+/g, ".*").replaceAll("?", ".")}$`, "isu");
  return (text) => expression.test(text.normalize("NFC"));
}
