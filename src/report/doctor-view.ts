import type { Check, CheckGroup, CheckStatus, FittingSetting } from "../model/examination.ts";
import { checkGroups } from "../model/examination.ts";
import type { Attributes, FileTarget } from "../model/resource.ts";
import { describeFinding } from "./doctor-words.ts";

/** An examination for scripts and for {@link formatExamination}. Texts may come from the service. */
export interface ExaminationView {
  readonly format_version: 1;
  /** The address that was looked at, or `sandbox`; absent when none is known. */
  readonly service?: string;
  /** Calls that were sent. */
  readonly calls: number;
  readonly summary: Readonly<Record<CheckStatus, number>>;
  readonly checks: readonly CheckView[];
  /** What to write below `service:` in the config; empty when the defaults fit. */
  readonly settings: SettingsTree;
  /** What to put back, as a manifest: a probe has changed the file. */
  readonly restore?: object;
}

/** One check. */
export interface CheckView {
  readonly name: Check["name"];
  readonly group: CheckGroup;
  readonly status: CheckStatus;
  /** Stable, kebab-case. */
  readonly code: string;
  readonly seen: string;
  readonly means?: string;
  readonly advice?: string;
  readonly facts: object;
}

/** Settings by name, nested as in the config. */
export interface SettingsTree {
  readonly [name: string]: unknown;
}

/** What a view is made of. */
export interface Examination {
  readonly service: string | undefined;
  readonly calls: number;
  readonly checks: readonly Check[];
  /** Those that differ from what is set, or from the defaults. */
  readonly settings: readonly FittingSetting[];
  /** The file that was probed. */
  readonly target: FileTarget | undefined;
}

/** Makes the view: checks in the order of their groups. */
export function viewExamination({ service, calls, checks, settings, target }: Examination): ExaminationView {
  const count = (status: CheckStatus) => checks.filter((check) => check.status === status).length;
  const restored = target === undefined ? undefined : attributesToRestore(checks);
  return {
    format_version: 1,
    ...(service === undefined ? {} : { service }),
    calls,
    summary: {
      ok: count("ok"),
      warning: count("warning"),
      failed: count("failed"),
      not_known: count("not_known"),
      not_checked: count("not_checked"),
    },
    checks: groups.flatMap((group) => checks.filter(isIn(group)).map((check) => viewCheck(check, group))),
    settings: settings.reduce<SettingsTree>(plant, {}),
    ...(target === undefined || restored === undefined ? {} : { restore: manifestOf(target, restored) }),
  };
}

const groups: readonly CheckGroup[] = ["machine", "service", "draft"];

function isIn(group: CheckGroup): (check: Check) => boolean {
  const names: ReadonlySet<string> = new Set(checkGroups[group]);
  return ({ name }) => names.has(name);
}

function viewCheck({ name, status, finding }: Check, group: CheckGroup): CheckView {
  const { code, facts } = finding;
  return { name, group, status, code, ...describeFinding(finding), facts };
}

/** The attributes before the first probe that changed any. */
function attributesToRestore(checks: readonly Check[]): Attributes | undefined {
  for (const { finding } of checks) {
    if (
      finding.code === "probe-harmful" ||
      finding.code === "probe-contradicts-record" ||
      finding.code === "method-put-changes"
    )
      return finding.facts.before;
  }
  return undefined;
}

function manifestOf({ draftId, kind, fileId }: FileTarget, attributes: Attributes): object {
  return { draft: draftId, [kind]: [{ file_id: fileId, ...attributes }] };
}

function plant(tree: SettingsTree, { path, value }: FittingSetting): SettingsTree {
  const [name = "", ...rest] = path;
  if (rest.length === 0) return { ...tree, [name]: value };
  const below = tree[name];
  const branch = typeof below === "object" && below !== null ? { ...below } : {};
  return { ...tree, [name]: plant(branch, { path: rest, value }) };
}
