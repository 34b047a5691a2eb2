import type { Check, Problem } from "../../model/examination.ts";
import { checkGroups, makeCheck, notChecked, withSetting } from "../../model/examination.ts";
import type { FileTarget } from "../../model/resource.ts";
import { type Attributes, attributeNames } from "../../model/resource.ts";
import type { AnswerLook } from "./look.ts";
import type { ProbedFile, ProbedRecord, ProbeStep } from "./probe-steps.ts";
import { isMethodRefused, isSame, lostSince, probedFile, tells } from "./probe-steps.ts";

/** What probes are judged with beside what they showed. */
export interface ProbedTarget extends ProbedRecord {
  readonly target: FileTarget;
  /** Whether the ledger holds the file. */
  readonly isRecorded: boolean;
  /** `data.type` of the file as it is set, and the name of that setting. */
  readonly wantedType: string;
  readonly typeSetting: string;
}

/** Judges what the probes have shown: each check of the draft, in their order. Pure. */
export function judgeProbes(steps: readonly ProbeStep[], about: ProbedTarget): readonly Check[] {
  const usable = steps.filter((step) => !isMethodRefused(step));
  const [first] = usable;
  const file = first === undefined ? undefined : probedFile(first, about.kind);
  const found = [
    judgeProbe(usable, file, { steps, about }),
    ...(file === undefined ? [] : [judgeType(file, about), judgeId(file, about.target)]),
    judgeMethod(steps, file, about),
  ];
  const byName = new Map(found.flatMap((check) => (check === undefined ? [] : [[check.name, check]])));
  return checkGroups.draft.map((name) => byName.get(name) ?? notChecked(name, "probe"));
}

interface Probing {
  readonly steps: readonly ProbeStep[];
  readonly about: ProbedTarget;
}

function judgeProbe(
  [first, second]: readonly ProbeStep[],
  file: ProbedFile | undefined,
  { steps, about }: Probing,
): Check | undefined {
  const failed = (problem: Problem) =>
    makeCheck("probe", "failed", { code: "probe-failed", facts: { problem } });
  if (first === undefined) {
    const [refused] = steps;
    return refused === undefined ? undefined : failed(problemOf(refused));
  }
  if (first.look.type === "failed") return failed(first.look.problem);
  if (file === undefined) return judgeUntold(first.look, problemOf(first));
  const { attributes } = file;
  if (lostSince(about.recorded, attributes).length > 0) {
    const facts = { before: about.recorded, after: attributes, isRecorded: about.isRecorded };
    return makeCheck("probe", "failed", { code: "probe-contradicts-record", facts });
  }
  if (!tells(attributes)) {
    const { kind } = about;
    // Whoever was asked for a file that has attributes has either mistaken it, or has just seen them go.
    return makeCheck("probe", "failed", { code: "probe-shows-nothing", facts: { kind } });
  }
  if (second === undefined) return undefined;
  const again = probedFile(second, about.kind);
  if (again === undefined) return failed(problemOf(second));
  if (!isSame(again, attributes)) {
    const facts = { before: attributes, after: again.attributes, isRecorded: about.isRecorded };
    return makeCheck("probe", "failed", { code: "probe-harmful", facts });
  }
  const unset = attributeNames[about.kind].filter((name) => !tells({ [name]: attributes[name] ?? "" }));
  return makeCheck("probe", "ok", { code: "probe-harmless", facts: { attributes, unset } });
}

/** An answer that tells no file. */
function judgeUntold({ status }: AnswerLook, problem: Problem): Check {
  if (status === 204) {
    return makeCheck("probe", "not_known", { code: "probe-untold", facts: { status } });
  }
  if (status === 202) return makeCheck("probe", "warning", { code: "probe-accepted", facts: { status } });
  if (status === 404 || status === 410) {
    return makeCheck("probe", "not_known", { code: "probe-not-attached", facts: { problem } });
  }
  const refused = status === 400 || status === 409 || status === 415 || status === 422;
  return refused
    ? makeCheck("probe", "warning", { code: "probe-refused", facts: { problem } })
    : makeCheck("probe", "failed", { code: "probe-failed", facts: { problem } });
}

function judgeType({ type }: ProbedFile, { wantedType: wanted, typeSetting }: ProbedTarget): Check {
  if (type === wanted) return makeCheck("data_type", "ok", { code: "data-type-as-set", facts: { type } });
  const check = makeCheck("data_type", "warning", { code: "data-type-other", facts: { type, wanted } });
  return withSetting(check, ["profile", "types", typeSetting], type);
}

function judgeId({ id }: ProbedFile, { fileId }: FileTarget): Check {
  if (id === undefined) return makeCheck("data_id", "ok", { code: "data-id-absent", facts: {} });
  return id === String(fileId)
    ? makeCheck("data_id", "ok", { code: "data-id-is-file", facts: { id } })
    : makeCheck("data_id", "ok", { code: "data-id-is-other", facts: { id, fileId } });
}

const methodPath = ["profile", "update_method"] as const;

function judgeMethod(
  steps: readonly ProbeStep[],
  file: ProbedFile | undefined,
  { kind, isRecorded }: ProbedTarget,
): Check | undefined {
  const [first] = steps;
  const put = steps.find(({ method }) => method === "PUT");
  if (first === undefined || put === undefined) return undefined;
  if (isMethodRefused(first)) {
    if (isMethodRefused(put) || put.look.type === "failed" || put.look.status >= 300) return undefined;
    const facts = { problem: problemOf(first) };
    const check = makeCheck("update_method", "warning", { code: "method-patch-refused", facts });
    return withSetting(check, methodPath, "PUT");
  }
  const before: Attributes = file?.attributes ?? {};
  const later = steps.slice(steps.indexOf(put)).map((step) => probedFile(step, kind));
  const changed = later.find((each) => each !== undefined && !isSame(each, before));
  if (changed !== undefined) {
    const facts = { before, after: changed.attributes, isRecorded };
    const check = makeCheck("update_method", "failed", { code: "method-put-changes", facts });
    return withSetting(check, methodPath, "PATCH");
  }
  if (put.look.type === "answer" && put.look.status >= 400 && put.look.status < 500) {
    const facts = { problem: problemOf(put) };
    const check = makeCheck("update_method", "warning", { code: "method-put-refused", facts });
    return withSetting(check, methodPath, "PATCH");
  }
  if (later.length === 2 && later.every((each) => each !== undefined)) {
    return makeCheck("update_method", "ok", { code: "method-same", facts: {} });
  }
  const facts = { problem: put.look.problem };
  return makeCheck("update_method", "not_known", { code: "method-put-untold", facts });
}

function problemOf({ look, method }: ProbeStep): Problem {
  const status = look.type === "answer" ? ` ${look.status}` : "";
  return look.problem ?? { code: "no-file", message: `${method}${status}: the answer tells no file` };
}
