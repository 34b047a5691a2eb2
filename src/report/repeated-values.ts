import type { GroupView } from "./plan-view.ts";
import { plural } from "./quantities.ts";

/** An attribute that changes in the same way in many files, as after a change of `defaults`. */
export interface RepeatedView {
  readonly value: {
    readonly kind: "value";
    readonly name: string;
    readonly before?: string;
    readonly after?: string;
  };
  /** `300 files of 120 drafts` */
  readonly files: string;
}

/** Fewer are seen in the list. */
const minFiles = 10;
const maxShown = 5;

/** The updates that repeat the most, the most frequent first. Pure. */
export function repeatedValues(groups: readonly GroupView[]): readonly RepeatedView[] {
  const found = new Map<
    string,
    { readonly value: RepeatedView["value"]; readonly drafts: Set<string>; files: number }
  >();
  for (const { address, changes } of groups) {
    for (const { action, values } of changes) {
      for (const value of action === "update" ? values : []) {
        if (value.kind !== "value") continue;
        const key = JSON.stringify([value.name, value.before ?? null, value.after ?? null]);
        const known = found.get(key) ?? { value, drafts: new Set<string>(), files: 0 };
        known.drafts.add(address);
        known.files += 1;
        found.set(key, known);
      }
    }
  }
  return [...found.values()]
    .filter(({ files }) => files >= minFiles)
    .sort((one, other) => other.files - one.files)
    .slice(0, maxShown)
    .map(({ value, drafts, files }) => ({
      value,
      files: `${plural(files, "file")} of ${plural(drafts.size, "draft")}`,
    }));
}
