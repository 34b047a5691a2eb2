import type { Attributes, FileTarget } from "../model/resource.ts";
import { allAttributeNames, attributeNames } from "../model/resource.ts";
import { plural } from "../report/quantities.ts";
import { fileTypeNames } from "../service/documents.ts";
import type { Check, CheckResult, Probe, ProbedFile, ProbeMethod, Problem, ResponseSample } from "./check.ts";
import { failed, failedBy, isResponse, listChecks, ok, unknown, warning } from "./check.ts";

/** The probed file, and what is known about it. */
export interface ProbeTarget {
  readonly target: FileTarget;
  /** The attributes in the ledger; `undefined` if the file is not recorded. */
  readonly recorded: Attributes | undefined;
  /** The configured `data.type` of the file. */
  readonly type: string;
}

/**
 * The next probe; `undefined` if no probe would add information. Probing stops after the first change, and when a change
 * would not show.
 *
 * ```
 *   PATCH ──405──> PUT ─> PUT, end
 *     └─ has attributes ─> PATCH ── unchanged ─> PUT ── succeeded ─> PATCH, end
 * ```
 */
export function nextProbe(probes: readonly Probe[], recorded: Attributes = {}): ProbeMethod | undefined {
  const usable = probes.filter((probe) => !isMethodRefused(probe));
  const [first, second, third, fourth] = usable;
  if (first === undefined) return probes.length === 0 ? "PATCH" : probes.length === 1 ? "PUT" : undefined;
  const { file } = first;
  if (file === undefined || !hasValue(file.attributes)) return undefined;
  if (hasLost(recorded, file.attributes)) return undefined;
  if (second === undefined) return first.method;
  if (!isUnchanged(second.file, file)) return undefined;
  if (first.method === "PUT" || probes.length > usable.length || fourth !== undefined) return undefined;
  if (third === undefined) return "PUT";
  return isResponse(third.sample) && third.sample.status < 300 ? "PATCH" : undefined;
}

/** Checks a file by its probes. Pure. */
export function checkFile(probes: readonly Probe[], about: ProbeTarget): readonly Check[] {
  const file = probes.find((probe) => !isMethodRefused(probe))?.file;
  const results = {
    probe: checkProbe(probes, about),
    data_type: file === undefined ? undefined : checkType(file, about),
    data_id: file === undefined ? undefined : checkId(file, about.target),
    update_method: checkMethod(probes, file, about),
  };
  return listChecks("draft", results, "probe");
}

/** The service does not have this method, so the other one can be tried. */
function isMethodRefused({ sample }: Probe): boolean {
  return isResponse(sample) && (sample.status === 405 || sample.status === 501);
}

/** An empty text and `false` can be left by clearing, so only other values show that nothing was cleared. */
function hasValue(attributes: Attributes): boolean {
  return Object.values(attributes).some((value) => value !== "" && value !== false);
}

function hasLost(before: Attributes, after: Attributes): boolean {
  const left = new Map(Object.entries(after));
  return Object.entries(before).some(
    ([name, value]) => hasValue({ [name]: value }) && !hasValue({ [name]: left.get(name) ?? "" }),
  );
}

function isUnchanged(after: ProbedFile | undefined, before: ProbedFile): boolean {
  return after !== undefined && canonical(after.attributes) === canonical(before.attributes);
}

function canonical(attributes: Attributes): string {
  return JSON.stringify(allAttributeNames.map((name) => attributes[name] ?? null));
}

function checkProbe(probes: readonly Probe[], about: ProbeTarget): CheckResult | undefined {
  const [first, second] = probes.filter((probe) => !isMethodRefused(probe));
  if (first === undefined) {
    const [refused] = probes;
    return refused === undefined ? undefined : failedBy("probe-failed", problemOf(refused));
  }
  if (!isResponse(first.sample)) return failedBy("probe-failed", first.sample.problem);
  const { file } = first;
  if (file === undefined) return checkResponseWithoutFile(first.sample, problemOf(first));
  if (about.recorded !== undefined && hasLost(about.recorded, file.attributes)) {
    const change = { before: about.recorded, after: file.attributes };
    const message = `the file differs from its record: ${formatChange(change)}`;
    return failed("probe-record-differs", message, changed(change, about));
  }
  if (!hasValue(file.attributes)) {
    return failed("probe-no-attributes", "the file has no attributes", {
      details: { kind: about.target.kind },
    });
  }
  if (second === undefined) return undefined;
  if (second.file === undefined) return failedBy("probe-failed", problemOf(second));
  const { attributes } = file;
  if (!isUnchanged(second.file, file)) {
    const change = { before: attributes, after: second.file.attributes };
    const message = `an update without attributes changed the file: ${formatChange(change)}`;
    return failed("probe-harmful", message, changed(change, about));
  }
  const untested = attributeNames[about.target.kind].filter(
    (name) => !hasValue({ [name]: attributes[name] ?? "" }),
  );
  const limit = untested.length === 0 ? "" : `; not tested: ${untested.join(", ")}`;
  const message = `two updates without attributes left ${formatAttributes(attributes)} unchanged${limit}`;
  return ok("probe-harmless", message, { details: { attributes, untested } });
}

function checkResponseWithoutFile({ status }: ResponseSample, problem: Problem): CheckResult {
  const { message } = problem;
  const details = { problem };
  switch (status) {
    case 204:
      return unknown("probe-unknown", "the probe returned 204 without the file", { details: { status } });
    case 202:
      return warning("probe-accepted", "the probe returned 202: accepted, but not completed", {
        details: { status },
      });
    case 404:
    case 410:
      return unknown("probe-not-attached", message, { details });
    case 400:
    case 409:
    case 415:
    case 422:
      return warning("probe-refused", message, { details });
    default:
      return failedBy("probe-failed", problem);
  }
}

function checkType({ type }: ProbedFile, { target, type: configured }: ProbeTarget): CheckResult {
  const details = { type, configured };
  if (type === configured) return ok("data-type-as-set", `"${type}"`, { details });
  const message = `"${type}", but "${configured}" is configured`;
  const setting = { path: ["profile", "types", fileTypeNames[target.kind]], value: type };
  return warning("data-type-other", message, { details, setting });
}

function checkId({ id }: ProbedFile, { fileId }: FileTarget): CheckResult {
  if (id === undefined) return ok("data-id-absent", "the response has none");
  const details = { id, file_id: fileId };
  return id === String(fileId)
    ? ok("data-id-is-file", `${id}, the file id`, { details })
    : ok("data-id-is-other", `"${id}", not the file id ${fileId}`, { details });
}

function checkMethod(
  probes: readonly Probe[],
  file: ProbedFile | undefined,
  about: ProbeTarget,
): CheckResult | undefined {
  const [first] = probes;
  const put = probes.find(({ method }) => method === "PUT");
  if (first === undefined || put === undefined) return undefined;
  const path = ["profile", "update_method"];
  const status = isResponse(put.sample) ? put.sample.status : undefined;
  if (isMethodRefused(first)) {
    if (status === undefined || status >= 300) return undefined;
    const problem = problemOf(first);
    const setting = { path, value: "PUT" };
    return warning("method-patch-refused", problem.message, { details: { problem }, setting });
  }
  const setting = { path, value: "PATCH" };
  const later = probes.slice(probes.indexOf(put)).map((probe) => probe.file);
  const other = later.find((each) => each !== undefined && file !== undefined && !isUnchanged(each, file));
  if (file !== undefined && other !== undefined) {
    const change = { before: file.attributes, after: other.attributes };
    const message = `a PUT without attributes changed the file: ${formatChange(change)}`;
    return failed("method-put-changes", message, { ...changed(change, about), setting });
  }
  if (status !== undefined && status >= 400 && status < 500) {
    const problem = problemOf(put);
    return warning("method-put-refused", problem.message, { details: { problem }, setting });
  }
  if (later.length === 2 && later.every((each) => each !== undefined)) {
    return ok("method-same", "a PUT without attributes changes nothing either");
  }
  return unknown(
    "method-put-unknown",
    put.sample.problem?.message ?? "the response to PUT is not conclusive",
  );
}

function problemOf({ sample, method }: Probe): Problem {
  const status = isResponse(sample) ? ` returned ${sample.status}` : "";
  const message = `${method}${status}: the response does not contain the file`;
  return sample.problem ?? { code: "no-file", message };
}

interface Change {
  readonly before: Attributes;
  readonly after: Attributes;
}

/** The common part of the results that report a change: what to restore, and how. */
function changed(
  change: Change,
  { recorded }: ProbeTarget,
): Pick<CheckResult, "hint" | "details" | "restore"> {
  const hint =
    recorded === undefined
      ? "Restore the attributes with the manifest below, or at the service."
      : "The ledger now contains the current attributes. If a manifest declares the file, restore them with `draftsync apply`.";
  return { hint, details: { ...change, is_recorded: recorded !== undefined }, restore: change.before };
}

function formatChange({ before, after }: Change): string {
  return `before ${formatAttributes(before)}; after ${formatAttributes(after)}`;
}

const maxQuotedLength = 80;

/** Attributes on one line, long values cut: `file_format "fbx", is_native false`. */
export function formatAttributes(attributes: Attributes): string {
  const parts = Object.entries(attributes).map(([name, value]) => {
    const text = String(value);
    return text.length > maxQuotedLength
      ? `${name} ${JSON.stringify(text.slice(0, maxQuotedLength))}… (${plural(text.length, "character")})`
      : `${name} ${JSON.stringify(value)}`;
  });
  return parts.length === 0 ? "no attributes" : parts.join(", ");
}
