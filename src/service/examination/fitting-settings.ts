import type { Check, FittingSetting } from "../../model/examination.ts";
import type { ServiceProfile } from "../profile.ts";
import { serviceProfileSchema } from "../profile.ts";

/**
 * The settings that fit what was seen, and that have to be written: each differs from its default, or from what the
 * config says in the default's place. Pure.
 */
export function fittingSettings(
  checks: readonly Check[],
  profile: ServiceProfile,
): readonly FittingSetting[] {
  const defaults = serviceProfileSchema.parse({});
  return checks.flatMap(({ setting }) => {
    if (setting === undefined) return [];
    const { path, value } = setting;
    const isUsual = valueAt({ profile: defaults }, path) === value;
    const isSet = valueAt({ profile }, path) === value;
    return isUsual && isSet ? [] : [setting];
  });
}

function valueAt(tree: object, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (at, name) => (typeof at === "object" && at !== null ? Reflect.get(at, name) : undefined),
    tree,
  );
}
