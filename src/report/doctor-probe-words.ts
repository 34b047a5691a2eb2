import type { ChangedFile, FindingCode, FindingFacts, Problem } from "../model/examination.ts";
import type { Attributes } from "../model/resource.ts";
import { plural } from "./quantities.ts";

/** A finding in words; they may hold text from the service. */
export interface FindingWords {
  /** What was seen. */
  readonly seen: string;
  /** What that means for draftsync, where it does not go without saying. */
  readonly means?: string;
  /** What to do about it. */
  readonly advice?: string;
}

type ProbeCode = Extract<FindingCode, `probe-${string}` | `data-${string}` | `method-${string}`>;

/** The words of what probes have found. */
export const probeWords: { readonly [Code in ProbeCode]: (facts: FindingFacts[Code]) => FindingWords } = {
  "probe-harmless": ({ attributes, unset }) => ({
    seen: `two updates that name no attribute left ${list(attributes)} as it was`,
    means: `\`refresh: { attachments: probe }\` is safe here.${unset.length === 0 ? "" : ` Of ${unset.join(", ")} it says nothing: this file has no such value that could be lost.`}`,
  }),
  "probe-harmful": (facts) => ({
    seen: `an update that names no attribute changes the file: ${change(facts)}`,
    means: "The probe is not harmless here: `refresh.attachments` must stay `none`. Nothing more was sent.",
    advice: putBack(facts),
  }),
  "probe-contradicts-record": (facts) => ({
    seen: `the file is not what is recorded of it: ${change(facts)}`,
    means:
      "Either somebody else has changed it, or the probe has cleared it: then it is not harmless, and `refresh.attachments` must stay `none`. Nothing more was sent.",
    advice: putBack(facts),
  }),
  "probe-shows-nothing": ({ kind }) => ({
    seen: "the file has no attribute now",
    means:
      "Either the probe has taken them away: then it is not harmless, and `refresh.attachments` must stay `none`. Or the file had none, and nothing can be told by it. Nothing more was sent.",
    advice: `Look at the file at the service. If it had attributes, type them in again; if not, name one of ${kind} that has some.`,
  }),
  "probe-untold": ({ status }) => ({
    seen: `the probe is answered ${status}, without the file`,
    means:
      "`refresh.attachments: probe` can tell there that a file is attached, not which attributes it has; whether it clears them was not seen either.",
    advice: "Look at the file's attributes at the service before you use it.",
  }),
  "probe-accepted": ({ status }) => ({
    seen: `the probe is answered ${status}: accepted, and not carried out yet`,
    means:
      "Every update would end like this: pending, and sent again by the next apply. `refresh.attachments` must stay `none`.",
  }),
  "probe-refused": ({ problem }) => ({
    seen: problem.message,
    means:
      "There is no probe at this service: `refresh.attachments` must stay `none`. Nothing else needs it.",
  }),
  "probe-not-attached": ({ problem }) => ({
    seen: problem.message,
    advice: "Check --draft, --file and --kind: name a file that is attached.",
  }),
  "probe-failed": ({ problem }) => fromProblem(problem),
  "data-type-as-set": ({ type }) => ({ seen: `"${type}"` }),
  "data-type-other": ({ type, wanted }) => ({
    seen: `"${type}", where "${wanted}" is set`,
    means: "Answers of another type are taken for no answers.",
  }),
  "data-id-is-file": ({ id }) => ({ seen: `${id}: the file id` }),
  "data-id-is-other": ({ id, fileId }) => ({
    seen: `"${id}": an id of its own, not the file id ${fileId}`,
    means: "draftsync does not rely on it: paths have the file id, as the document says.",
  }),
  "data-id-absent": () => ({
    seen: "the answer names none",
    means: "draftsync does not rely on it: paths have the file id, as the document says.",
  }),
  "method-same": () => ({ seen: "a PUT that names no attribute leaves them as a PATCH does" }),
  "method-put-changes": (facts) => ({
    seen: `a PUT that names no attribute changes the file: ${change(facts)}`,
    means: "PUT replaces here, against the document: service.profile.update_method must be PATCH.",
    advice: putBack(facts),
  }),
  "method-put-refused": ({ problem }) => ({
    seen: problem.message,
    means: "service.profile.update_method must be PATCH.",
  }),
  "method-put-untold": ({ problem }) => ({
    seen: problem?.message ?? "what PUT does could not be seen",
    means: "Keep service.profile.update_method at PATCH.",
  }),
  "method-patch-refused": ({ problem }) => ({
    seen: problem.message,
    means: "PUT is taken: service.profile.update_method must be PUT.",
  }),
};

/** A failure, in the words that it came with. */
export function fromProblem({ message, hint }: Problem): FindingWords {
  return { seen: message, ...(hint === undefined ? {} : { advice: hint }) };
}

/** Attributes on one line: `file_format "fbx", is_native false`. What is longer than a line is cut. */
export function list(attributes: Attributes): string {
  const parts = Object.entries(attributes).map(([name, value]) => `${name} ${quote(value)}`);
  return parts.length === 0 ? "no attribute" : parts.join(", ");
}

const maxQuotedLength = 80;

function quote(value: string | boolean): string {
  const text = String(value);
  return text.length > maxQuotedLength
    ? `${JSON.stringify(text.slice(0, maxQuotedLength))}… (${plural(text.length, "character")})`
    : JSON.stringify(value);
}

function change({ before, after }: ChangedFile): string {
  return `before ${list(before)}; after ${list(after)}`;
}

function putBack({ isRecorded }: ChangedFile): string {
  return isRecorded
    ? "The ledger has taken in what was seen last: where a manifest names the file, `draftsync plan` shows what to put back, and apply does it."
    : "Put it back by the manifest below, or by hand.";
}
