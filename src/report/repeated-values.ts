import { append } from "../model/append.ts";
import type { ValueView } from "./change-view.ts";
import type { GroupView } from "./plan-view.ts";
import { plural } from "./quantities.ts";

type ShortValue = Extract<ValueView, { kind: "value" }>;

/** An attribute that changes in the same way in many files, as after a change of `defaults`. */
export interface RepeatedView {
  readonly value: ShortValue;
  /** `300 files of 120 drafts` */
  readonly files: string;
}

/** An attribute of one file that changes in a way of its own. */
export interface OtherView {
  readonly address: string;
  readonly title?: string;
  readonly value: ShortValue;
}

/** What repeats, and what hides among it: empty where it does not. */
export interface CommonValues {
  readonly repeated: readonly RepeatedView[];
  /** At most {@link maxOthers}; more are not exceptions. */
  readonly others: readonly OtherView[];
}

/** Fewer are seen in the list. */
const minFiles = 10;
const maxRepeated = 5;
const maxOthers = 20;

/** The changes of short values that repeat, the most frequent first, and the exceptions. Pure. */
export function commonValues(groups: readonly GroupView[]): CommonValues {
  const found = new Map<string, OtherView[]>();
  for (const { address: draft, title, changes } of groups) {
    for (const { action, label, values } of changes) {
      for (const value of action === "update" ? values : []) {
        if (value.kind !== "value") continue;
        const key = JSON.stringify([value.name, value.before ?? null, value.after ?? null]);
        const named = { address: `${draft}/${label}`, ...(title === undefined ? {} : { title }) };
        append(found, key, { ...named, value });
      }
    }
  }
  const sorted = [...found.values()].sort((one, other) => other.length - one.length);
  const repeated = sorted.filter(({ length }) => length >= minFiles).slice(0, maxRepeated);
  const others = sorted.slice(repeated.length).flat();
  return {
    repeated: repeated.flatMap((same) => {
      const [first] = same;
      const drafts = new Set(same.map(({ address }) => address.split("/", 2).join("/")));
      const files = `${plural(same.length, "file")} of ${plural(drafts.size, "draft")}`;
      return first === undefined ? [] : [{ value: first.value, files }];
    }),
    others: repeated.length === 0 || others.length > maxOthers ? [] : others,
  };
}
