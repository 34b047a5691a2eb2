import type { FileTarget } from "../model/resource.ts";
import type { ServiceProfile } from "../service/profile.ts";
import { serviceProfileSchema } from "../service/profile.ts";
import type { Check, CheckGroup, CheckStatus, Problem, Setting } from "./check.ts";

/** The report of `draftsync doctor`, for scripts and for the terminal. Texts may come from the service. */
export interface DoctorView {
  readonly format_version: 1;
  /** The address of the service, or `sandbox`; absent if unknown. */
  readonly service?: string;
  /** Calls that were sent. */
  readonly calls: number;
  readonly summary: Readonly<Record<CheckStatus, number>>;
  readonly checks: readonly CheckView[];
  /** Settings to write below `service:` in the config, nested; empty if the current settings fit. */
  readonly settings: SettingsTree;
  /** A manifest with the attributes that a probe changed. */
  readonly restore?: object;
}

/** One check of a {@link DoctorView}. */
export interface CheckView {
  readonly group: CheckGroup;
  readonly name: string;
  readonly status: CheckStatus;
  /** Stable, kebab-case. */
  readonly code: string;
  readonly message: string;
  /** The consequence, from `docs/errors.md`. */
  readonly meaning?: string;
  /** What to do. */
  readonly hint?: string;
  readonly problem?: Problem;
  readonly details: object;
}

/** Settings by name, nested as in the config. */
export interface SettingsTree {
  readonly [name: string]: unknown;
}

/** The section of a code in `docs/errors.md`. */
export interface Explanation {
  readonly meaning: string;
  readonly cure: readonly string[];
}

/** The input of {@link viewDoctor}. */
export interface DoctorReport {
  readonly service: string | undefined;
  readonly calls: number;
  readonly checks: readonly Check[];
  /** The current settings; absent without a config. */
  readonly profile: ServiceProfile | undefined;
  /** The probed file. */
  readonly target: FileTarget | undefined;
  explain(code: string): Explanation | undefined;
}

/** Makes the view. */
export function viewDoctor(report: DoctorReport): DoctorView {
  const { service, calls, checks, profile, target, explain } = report;
  const count = (status: CheckStatus) => checks.filter((check) => check.status === status).length;
  const restore = checks.find((check) => check.restore !== undefined)?.restore;
  return {
    format_version: 1,
    ...(service === undefined ? {} : { service }),
    calls,
    summary: {
      ok: count("ok"),
      warning: count("warning"),
      failed: count("failed"),
      unknown: count("unknown"),
      skipped: count("skipped"),
    },
    checks: checks.map((check) => viewCheck(check, explain)),
    settings: (profile === undefined ? [] : neededSettings(checks, profile)).reduce<SettingsTree>(
      addSetting,
      {},
    ),
    ...(target === undefined || restore === undefined
      ? {}
      : { restore: { draft: target.draftId, [target.kind]: [{ file_id: target.fileId, ...restore }] } }),
  };
}

/** A problem brings its own hint; a result without a consequence needs no explanation. */
function viewCheck(check: Check, explain: DoctorReport["explain"]): CheckView {
  const { group, name, status, code, message, problem, details = {} } = check;
  const isExplained = problem === undefined && status !== "ok" && status !== "skipped";
  const { meaning, cure = [] } = (isExplained ? explain(code) : undefined) ?? {};
  const hint = problem?.hint ?? check.hint ?? cure.join(" ");
  return {
    ...{ group, name, status, code, message },
    ...(meaning === undefined ? {} : { meaning }),
    ...(hint === "" ? {} : { hint }),
    ...(problem === undefined ? {} : { problem }),
    details,
  };
}

/** The suggested settings that differ from the defaults, or from the current settings. */
function neededSettings(checks: readonly Check[], profile: ServiceProfile): readonly Setting[] {
  const defaults = serviceProfileSchema.parse({});
  return checks.flatMap(({ setting }) => {
    if (setting === undefined) return [];
    const { path, value } = setting;
    const isDefault = valueAt({ profile: defaults }, path) === value;
    return isDefault && valueAt({ profile }, path) === value ? [] : [setting];
  });
}

function valueAt(tree: object, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (at, name) => (typeof at === "object" && at !== null ? Reflect.get(at, name) : undefined),
    tree,
  );
}

function addSetting(tree: SettingsTree, { path: [name = "", ...rest], value }: Setting): SettingsTree {
  if (rest.length === 0) return { ...tree, [name]: value };
  const below = tree[name];
  const branch = typeof below === "object" && below !== null ? { ...below } : {};
  return { ...tree, [name]: addSetting(branch, { path: rest, value }) };
}
