import type { EventSink } from "../model/event.ts";
import type { Check, CheckGroup, Obstacle } from "../model/examination.ts";
import { checkGroups, makeCheck, notChecked } from "../model/examination.ts";
import { systemClock } from "../model/ports.ts";
import type { FileTarget } from "../model/resource.ts";
import { formatExamination, formatLookNotice } from "../report/doctor-text.ts";
import { viewExamination } from "../report/doctor-view.ts";
import { formatWaiting } from "../report/progress-text.ts";
import { type Examiner, mostLooks } from "../service/examination/examiner.ts";
import { fittingSettings } from "../service/examination/fitting-settings.ts";
import { judgeLooks } from "../service/examination/judge-looks.ts";
import type { Cli } from "./cli.ts";
import type { DoctorFlags } from "./commands/doctor.ts";
import type { Config } from "./config.ts";
import { assumeConfig, loadConfig } from "./config.ts";
import { checkEnvironment, checkLedger, checkNode, problemOf } from "./doctor-machine.ts";
import { probeDraft } from "./doctor-probe.ts";
import { assertApprovable } from "./runtime/approval.ts";
import { CliError, DiagnosticsError } from "./runtime/cli-error.ts";
import type { ExitCode } from "./runtime/exit-code.ts";
import { exitCode } from "./runtime/exit-code.ts";
import { warnWhileRecoveryPending } from "./runtime/recovery.ts";
import type { Workspace } from "./runtime/workspace.ts";
import { inWorkspaceOf } from "./runtime/workspace.ts";
import { printJson } from "./terminal/print-json.ts";

/** Examines the service that the flags name, and reports. The exit code is 1 when a check failed. */
export async function runDoctor(cli: Cli, flags: DoctorFlags): Promise<void> {
  const target = targetOf(flags);
  if (target !== undefined) assertApprovable(cli, { given: flags.autoApprove, to: "to probe" });
  const found = await findConfig(cli, flags);
  const begun = [checkNode(), found.check];
  if (found.config === undefined) {
    const rest = checkGroups.machine.slice(2).map((name) => notChecked(name, "config"));
    return report(cli, flags, { checks: [...begun, ...rest, ...allOf("service", "config")], calls: 0 });
  }
  const { config } = found;
  if (target !== undefined && found.assumed) throw needsWorkspace();
  if (!found.assumed) warnWhileRecoveryPending(cli, config);
  await inWorkspaceOf(cli, config, async (workspace) => {
    const alone = found.assumed && flags.state === undefined && !cli.env.DRAFTSYNC_STATE;
    const examined = await examine(cli, workspace, { flags, target, alone });
    await report(cli, flags, { ...examined, checks: [...begun, ...examined.checks], config, target });
  });
}

function targetOf({ draft, file, kind }: DoctorFlags): FileTarget | undefined {
  if (draft === undefined && file === undefined) return undefined;
  if (draft !== undefined && file !== undefined) return { draftId: draft, kind, fileId: file };
  throw new CliError("--draft and --file must be used together", {
    code: "invalid-flag",
    hint: "Name a draft and a file that is attached to it: --draft 48213 --file 9900011",
  });
}

function needsWorkspace(): CliError {
  return new CliError("--draft and --file need a config, because its ledger records probes", {
    code: "config-missing",
    hint: "Run `draftsync init` to write one, or name one with --config FILE.",
  });
}

interface FoundConfig {
  readonly check: Check;
  readonly config?: Config;
  /** There is no file: only the address is known. */
  readonly assumed: boolean;
}

async function findConfig(cli: Cli, flags: DoctorFlags): Promise<FoundConfig> {
  const environment = { cwd: cli.cwd, env: cli.env, flags };
  try {
    const config = await loadConfig(environment);
    const { file, workspace } = config;
    const finding = { code: "config-read", facts: { file, workspace } } as const;
    return { check: makeCheck("config", "ok", finding), config, assumed: false };
  } catch (error) {
    // Each of its mistakes is shown at its line, as by every other command.
    if (error instanceof DiagnosticsError && flags.json !== true) throw error;
    const problem = problemOf(error);
    const config =
      problem.code === "config-missing" && flags.config === undefined ? assumeConfig(environment) : undefined;
    if (config === undefined) {
      const finding = { code: "config-unusable", facts: { problem } } as const;
      return { check: makeCheck("config", "failed", finding), assumed: true };
    }
    return { check: makeCheck("config", "ok", { code: "config-absent", facts: {} }), config, assumed: true };
  }
}

interface ExamineOptions {
  readonly flags: DoctorFlags;
  readonly target: FileTarget | undefined;
  /** There is no workspace whose ledger the rate bound is kept in. */
  readonly alone: boolean;
}

interface Examined {
  readonly checks: readonly Check[];
  readonly calls: number;
  readonly exit?: ExitCode | undefined;
}

async function examine(cli: Cli, workspace: Workspace, options: ExamineOptions): Promise<Examined> {
  const environment = await checkEnvironment(workspace.config, cli);
  const ready = environment.every(({ status }) => status !== "failed");
  const ledger = options.alone
    ? makeCheck("ledger", "ok", { code: "ledger-none", facts: {} })
    : await checkLedger(workspace, ready ? "write" : "read");
  const machine = [...environment, ledger];
  const draft = (because: Obstacle) => (options.target === undefined ? [] : allOf("draft", because));
  const standstill = (because: Obstacle): Examined => ({
    checks: [...machine, ...allOf("service", because), ...draft(because)],
    calls: 0,
  });
  if (!ready) return standstill(environment[0]?.status === "failed" ? "key" : "options");
  if (ledger.status === "failed") return standstill("ledger");
  const opened = await openExaminer(cli, workspace, options.alone);
  if ("check" in opened) {
    const checks = [...machine, ...allOf("service", "options"), ...draft("options")];
    return {
      checks: checks.map((check) => (check.name === opened.check.name ? opened.check : check)),
      calls: 0,
    };
  }
  const service = await look(cli, workspace.config, opened.examiner);
  const reached = service.every(({ name, status }) => !decisive.has(name) || status !== "failed");
  const probed = await probeIfAsked(cli, { ...options, workspace, examiner: opened.examiner, reached });
  return {
    checks: [...machine, ...service, ...probed.checks],
    calls: opened.examiner.callCount(),
    exit: probed.exit,
  };
}

/** Checks of the service that have to be passed before anything is sent that may change something. */
const decisive: ReadonlySet<string> = new Set(["address", "key_accepted", "version"]);

async function look(cli: Cli, { service }: Config, examiner: Examiner): Promise<readonly Check[]> {
  const { rate, concurrency, profile, origin, baseUrl = "http://localhost" } = service;
  cli.terminal.err(formatLookNotice({ service: origin, calls: mostLooks, rate }));
  const looks = await examiner.look(cli.signal);
  return cli.signal.aborted
    ? allOf("service", "interrupted")
    : judgeLooks(looks, {
        baseUrl,
        rate,
        concurrency,
        contentType: profile.content_type,
        now: systemClock.now(),
      });
}

interface ProbingOptions extends ExamineOptions {
  readonly workspace: Workspace;
  readonly examiner: Examiner;
  readonly reached: boolean;
}

async function probeIfAsked(
  cli: Cli,
  { target, flags, workspace, examiner, reached }: ProbingOptions,
): Promise<{ readonly checks: readonly Check[]; readonly exit?: ExitCode }> {
  if (target === undefined) return { checks: [] };
  if (cli.signal.aborted) return { checks: allOf("draft", "interrupted") };
  if (!reached) return { checks: allOf("draft", "address") };
  return probeDraft(cli, {
    workspace,
    examiner,
    target,
    approved: flags.autoApprove,
    lockTimeout: flags.lockTimeout,
  });
}

async function openExaminer(
  cli: Cli,
  workspace: Workspace,
  alone: boolean,
): Promise<{ readonly examiner: Examiner } | { readonly check: Check }> {
  const emit: EventSink = (event) => {
    if (event.type === "waiting") cli.terminal.err(`${formatWaiting(event)}\n`);
  };
  try {
    return { examiner: await workspace.examine(emit, { alone }) };
  } catch (error) {
    const problem = problemOf(error);
    const name = problem.code.startsWith("key-")
      ? "key"
      : problem.code === "proxy-invalid"
        ? "proxy"
        : "address";
    return { check: makeCheck(name, "failed", { code: "options-unusable", facts: { problem } }) };
  }
}

function allOf(group: CheckGroup, because: Obstacle): readonly Check[] {
  return checkGroups[group].map((name) => notChecked(name, because));
}

interface Report extends Examined {
  readonly config?: Config;
  readonly target?: FileTarget | undefined;
}

async function report(
  cli: Cli,
  flags: DoctorFlags,
  { checks, calls, exit, config, target }: Report,
): Promise<void> {
  const settings = config === undefined ? [] : fittingSettings(checks, config.service.profile);
  const view = viewExamination({ service: config?.service.origin, calls, checks, settings, target });
  if (flags.json) {
    printJson(cli, view);
  } else {
    cli.terminal.out(formatExamination(view, cli.terminal.paintOut));
  }
  // An interrupt, and a call that is in doubt, have their own.
  if (exit !== undefined) cli.end(exit);
  else if (view.summary.failed > 0 && !cli.signal.aborted) cli.end(exitCode.error);
}
