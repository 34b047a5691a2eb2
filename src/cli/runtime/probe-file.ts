import { type Check, failedBy, listChecks, type Probe } from "../../doctor/check.ts";
import { checkFile, nextProbe } from "../../doctor/check-file.ts";
import { problemOf } from "../../doctor/check-machine.ts";
import type { DoctorClient } from "../../doctor/client.ts";
import { formatFirstProbe, formatProbeNotice } from "../../doctor/report.ts";
import { formatAddress } from "../../model/address.ts";
import type { CallResult } from "../../model/outcome.ts";
import { type LedgerEffect, systemClock } from "../../model/ports.ts";
import { fileResourceOf, type RecordedAttachment } from "../../model/recorded.ts";
import { type Attributes, type FileTarget, fileResource, withoutEmpty } from "../../model/resource.ts";
import { onceRead } from "../../model/unsettled.ts";
import { typeOfFile } from "../../service/documents.ts";
import { approve } from "./approval.ts";
import { CliError } from "./cli-error.ts";
import { type ExitCode, exitCode, exitCodeOf } from "./exit-code.ts";
import { inRun, type Operate } from "./single-call.ts";
import { withLock } from "./with-lock.ts";
import type { Workspace } from "./workspace.ts";

/** The file to probe. */
export interface ProbeRequest {
  readonly workspace: Workspace;
  readonly client: DoctorClient;
  readonly target: FileTarget;
  /** `--auto-approve` was given. */
  readonly approved: boolean | undefined;
  /** How long to wait for another holder of the lock, milliseconds. */
  readonly lockTimeout: number | undefined;
}

/** The checks of the file, and the exit code if it does not follow from them. */
export interface ProbedChecks {
  readonly checks: readonly Check[];
  readonly exit?: ExitCode;
}

/**
 * Asks for approval, and probes. A probe may change the file at a service that does not follow JSON:API, so it is sent as
 * every writing call: under the lock, its intent recorded before the first byte and its outcome after. If the file is
 * recorded, so are its new attributes; nothing is adopted. A file with a call in doubt is not probed: the probe would settle that.
 */
export async function probeFile(request: ProbeRequest): Promise<ProbedChecks> {
  const { workspace, lockTimeout: waitMs } = request;
  try {
    return await withLock(workspace, { command: "doctor", waitMs }, () => probeLocked(request));
  } catch (error) {
    const probe = failedBy("probe-failed", problemOf(error));
    return { checks: listChecks("draft", { probe }, "lock"), exit: exitCodeOf(error) };
  }
}

async function probeLocked(request: ProbeRequest): Promise<ProbedChecks> {
  const { workspace, client, target, approved } = request;
  const { cli, config } = workspace;
  const { draftId, fileId } = target;
  const file = fileResource(target);
  const { attachments, inDoubt: doubts } = await (await workspace.ledger()).load();
  if (doubts.some((operation) => fileResourceOf(operation) === file)) {
    throw new CliError(`a call about file ${fileId} of draft ${draftId} is in doubt; no probe was sent`, {
      code: "operation-in-doubt",
      hint: "Settle it first, with `draftsync apply` or `draftsync resolve`.",
    });
  }
  const record = attachments.find((each) => fileResource(each) === file);
  const recorded = record === undefined ? undefined : withoutEmpty(record.attributes);
  cli.terminal.log({ level: "info", text: formatProbeNotice(target, recorded), isResult: true });
  const isApproved = await approve(cli, {
    given: approved,
    question: `Probe file ${fileId} of draft ${draftId}?`,
    to: "to probe",
    declined: "Not probed.",
  });
  if (!isApproved) {
    return { checks: listChecks("draft", {}, cli.signal.aborted ? "interrupted" : "declined") };
  }
  const { probes, inDoubt } = await inRun(workspace, { service: client, command: "doctor" }, (operate) =>
    sendProbes(request, record, operate),
  );
  const type = typeOfFile(target.kind, config.service.profile.types);
  const checks = checkFile(probes, { target, recorded, type });
  return { checks, ...(inDoubt ? { exit: exitCode.inDoubt } : {}) };
}

async function sendProbes(
  { workspace, client, target }: ProbeRequest,
  record: RecordedAttachment | undefined,
  operate: Operate,
) {
  const { draftId, kind, fileId } = target;
  const own = { type: "attachment", draftId, kind, ref: { by: "file_id", fileId } } as const;
  const probes: Probe[] = [];
  let inDoubt = false;
  for (;;) {
    const method = nextProbe(probes, record?.attributes);
    if (method === undefined) return { probes, inDoubt };
    const { outcome } = await operate({
      address: record?.address ?? formatAddress(own),
      kind: "update",
      intent: { draftId, fileKind: kind, fileId, attributes: {}, isProbe: true },
      call: async (write) => {
        const { result, probe } = await client.probe(target, method, write);
        probes.push(probe);
        return result;
      },
      effects: (result) => effectsOf(result, record),
    });
    inDoubt ||= outcome === "unknown" && record !== undefined;
    const files = probes.flatMap(({ file }) => file ?? []);
    if (files.length === 1 && files[0] !== undefined)
      workspace.cli.terminal.err(formatFirstProbe(files[0].attributes));
  }
}

/** Records attributes that differ from the record, so that a plan shows what to restore. */
function effectsOf(
  result: CallResult<Attributes>,
  record: RecordedAttachment | undefined,
): readonly LedgerEffect[] {
  if (record === undefined || result.outcome !== "done" || result.status !== 200) return [];
  const current = new Map(Object.entries(result.value));
  if (Object.entries(record.attributes).every(([name, value]) => current.get(name) === value)) return [];
  const read = { by: "probe", at: systemClock.now() } as const;
  const confirmed = onceRead(record.kind, record, { returned: result.value, read });
  return [{ type: "rerecorded", attachment: { ...record, ...confirmed } }];
}
