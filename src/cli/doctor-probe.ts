import { formatAddress } from "../model/address.ts";
import type { Check, Obstacle } from "../model/examination.ts";
import { checkGroups, makeCheck, notChecked } from "../model/examination.ts";
import type { CallResult } from "../model/outcome.ts";
import type { LedgerEffect } from "../model/ports.ts";
import { systemClock } from "../model/ports.ts";
import type { RecordedAttachment } from "../model/recorded.ts";
import type { Attributes, FileTarget } from "../model/resource.ts";
import { formatFirstProbe, formatProbeNotice } from "../report/doctor-text.ts";
import { fileTypeNames } from "../service/documents.ts";
import type { Examiner } from "../service/examination/examiner.ts";
import { judgeProbes } from "../service/examination/judge-probes.ts";
import type { ProbeStep } from "../service/examination/probe-steps.ts";
import { nextProbe, probedFile, withValue } from "../service/examination/probe-steps.ts";
import type { Cli } from "./cli.ts";
import { problemOf } from "./doctor-machine.ts";
import { approve } from "./runtime/approval.ts";
import type { ExitCode } from "./runtime/exit-code.ts";
import { exitCode, exitCodeOf } from "./runtime/exit-code.ts";
import type { Operate } from "./runtime/single-call.ts";
import { inRun } from "./runtime/single-call.ts";
import { withLock } from "./runtime/with-lock.ts";
import type { Workspace } from "./runtime/workspace.ts";

/** What is probed, and with what. */
export interface ProbeRequest {
  readonly workspace: Workspace;
  readonly examiner: Examiner;
  readonly target: FileTarget;
  /** `--auto-approve` was given. */
  readonly approved: boolean | undefined;
  /** How long to wait for another holder of the lock, milliseconds. */
  readonly lockTimeout: number | undefined;
}

/** The checks of the draft, and the exit code when it is not for them to decide. */
export interface ProbeResult {
  readonly checks: readonly Check[];
  readonly exit?: ExitCode;
}

/**
 * Asks, and probes. A probe is a writing call: at a service that does not keep to JSON:API it may change the file. So it is
 * sent as all of them are: by the holder of the lock, with its intent in the ledger before its first byte and its outcome
 * after, and what it shows of a recorded file that is another by now is recorded. Nothing is adopted.
 */
export async function probeDraft(cli: Cli, request: ProbeRequest): Promise<ProbeResult> {
  const { workspace } = request;
  try {
    return await withLock(cli, { workspace, command: "doctor", waitMs: request.lockTimeout }, () =>
      ask(cli, request),
    );
  } catch (error) {
    const failed = makeCheck("probe", "failed", {
      code: "probe-failed",
      facts: { problem: problemOf(error) },
    });
    const others = checkGroups.draft.slice(1).map((name) => notChecked(name, "lock"));
    return { checks: [failed, ...others], exit: exitCodeOf(error) };
  }
}

async function ask(cli: Cli, request: ProbeRequest): Promise<ProbeResult> {
  const { workspace, target, approved } = request;
  const { draftId, kind, fileId } = target;
  const { attachments } = await (await workspace.ledger()).load();
  const recorded = attachments.find(
    (each) => each.draftId === draftId && each.kind === kind && each.fileId === fileId,
  );
  const known = recorded === undefined ? undefined : withValue(recorded.attributes);
  cli.terminal.log({ level: "info", text: formatProbeNotice(target, known), isResult: true });
  const agreed = await approve(cli, {
    given: approved,
    question: `Probe file ${fileId} of draft ${draftId}?`,
    to: "to probe",
    declined: "Not probed.",
  });
  if (!agreed) return { checks: unasked(cli.signal.aborted ? "interrupted" : "declined") };
  const tools = { workspace, service: request.examiner, command: "doctor" };
  const { steps, inDoubt } = await inRun(cli, tools, (operate) => probe(cli, request, { recorded, operate }));
  const type = fileTypeNames[kind];
  const checks = judgeProbes(steps, {
    kind,
    target,
    recorded: known ?? {},
    isRecorded: recorded !== undefined,
    wantedType: workspace.config.service.profile.types[type],
    typeSetting: type,
  });
  return { checks, ...(inDoubt ? { exit: exitCode.inDoubt } : {}) };
}

function unasked(because: Obstacle): readonly Check[] {
  return checkGroups.draft.map((name) => notChecked(name, because));
}

interface Probing {
  readonly recorded: RecordedAttachment | undefined;
  readonly operate: Operate;
}

async function probe(
  { terminal }: Cli,
  { examiner, target }: ProbeRequest,
  { recorded, operate }: Probing,
): Promise<{ readonly steps: readonly ProbeStep[]; readonly inDoubt: boolean }> {
  const { draftId, kind, fileId } = target;
  const own = { type: "attachment", draftId, kind, ref: { by: "file_id", fileId } } as const;
  const known = { kind, recorded: recorded?.attributes ?? {} };
  const steps: ProbeStep[] = [];
  let inDoubt = false;
  for (let method = nextProbe(steps, known); method !== undefined; method = nextProbe(steps, known)) {
    const sent = method;
    const { outcome } = await operate({
      address: recorded?.address ?? formatAddress(own),
      kind: "update",
      intent: { draftId, fileKind: kind, fileId, attributes: {} },
      call: async (write) => {
        const { result, step } = await examiner.probe(target, sent, write);
        steps.push(step);
        return result;
      },
      effects: (answer) => effectsOf(answer, recorded),
    });
    inDoubt ||= outcome === "unknown";
    const seen = steps.flatMap((step) => probedFile(step, kind) ?? []);
    if (seen.length === 1 && seen[0] !== undefined) terminal.err(formatFirstProbe(seen[0].attributes));
  }
  return { steps, inDoubt };
}

/** A record that an answer contradicts takes over what was seen; so a plan shows what is to be put back. */
function effectsOf(
  answer: CallResult<Attributes>,
  recorded: RecordedAttachment | undefined,
): readonly LedgerEffect[] {
  if (recorded === undefined || answer.outcome !== "done" || answer.status !== 200) return [];
  const seen = new Map(Object.entries(answer.value));
  if (Object.entries(recorded.attributes).every(([name, value]) => seen.get(name) === value)) return [];
  const provenance = { by: "probe", at: systemClock.now() } as const;
  return [{ type: "rerecorded", attachment: { ...recorded, attributes: answer.value, provenance } }];
}
