import type { Check, CheckResult, Problem, Results, SkipReason } from "../../doctor/check.ts";
import { failedBy, listChecks, ok } from "../../doctor/check.ts";
import {
  checkApiKey,
  checkAuthorities,
  checkLedger,
  checkNode,
  checkProxy,
  problemOf,
} from "../../doctor/check-machine.ts";
import { checkService } from "../../doctor/check-service.ts";
import type { DoctorClient } from "../../doctor/client.ts";
import { formatDoctor, formatSampleNotice, viewDoctor } from "../../doctor/report.ts";
import type { EventSink } from "../../model/event.ts";
import { systemClock } from "../../model/ports.ts";
import type { FileTarget } from "../../model/resource.ts";
import { formatLocation } from "../../model/source-location.ts";
import { assertOwner } from "../../plan/ownership.ts";
import { formatWaiting } from "../../report/progress-text.ts";
import type { Cli } from "../cli.ts";
import type { DoctorFlags } from "../commands/doctor.ts";
import { assumeConfig, type Config, loadConfig } from "../config.ts";
import { readErrorDocs } from "../error-docs.ts";
import { printJson } from "../terminal/print-json.ts";
import { assertApprovable } from "./approval.ts";
import { CliError, DiagnosticsError } from "./cli-error.ts";
import { type ExitCode, exitCode } from "./exit-code.ts";
import { loadApiKey, loadAuthorities } from "./input-files.ts";
import { probeFile } from "./probe-file.ts";
import { warnWhileRecoveryPending } from "./recovery.ts";
import { inWorkspaceOf, type Workspace } from "./workspace.ts";

/** Checks this machine and the service that the flags name, and prints the report. The exit code is 1 if a check failed. */
export async function runDoctor(cli: Cli, flags: DoctorFlags): Promise<void> {
  const target = targetOf(flags);
  if (target !== undefined) assertApprovable(cli, { given: flags.autoApprove, to: "to probe" });
  const { config, isAssumed, result } = await findConfig(cli, flags);
  const machine = { node: checkNode(), config: result };
  if (config === undefined) {
    const checks = [...listChecks("machine", machine, "config"), ...listChecks("service", {}, "config")];
    return report(cli, { flags, checks, calls: 0 });
  }
  if (target !== undefined && isAssumed) {
    throw new CliError("--draft and --file need a config, because its ledger records probes", {
      code: "config-missing",
      hint: "Run `draftsync init` to write one, or name one with --config FILE.",
    });
  }
  if (!isAssumed) warnWhileRecoveryPending(cli, config);
  await inWorkspaceOf(cli, config, async (workspace) => {
    const withoutLedger = isAssumed && flags.state === undefined && !cli.env.DRAFTSYNC_STATE;
    const ended = await checkAll({ workspace, flags, target, machine, withoutLedger });
    await report(cli, { flags, config, target, ...ended });
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

interface FoundConfig {
  readonly config?: Config;
  /** No file: only the address is known. */
  readonly isAssumed: boolean;
  readonly result: CheckResult;
}

async function findConfig(cli: Cli, flags: DoctorFlags): Promise<FoundConfig> {
  const environment = { cwd: cli.cwd, env: cli.env, flags };
  try {
    const config = await loadConfig(environment);
    const { file, workspace } = config;
    const result = ok("config-read", `${file}, workspace ${workspace}`, { details: { file, workspace } });
    return { config, isAssumed: false, result };
  } catch (error) {
    // Without --json, each error in the file is printed with its line, as every command does.
    if (error instanceof DiagnosticsError && flags.json !== true) throw error;
    const problem = error instanceof DiagnosticsError ? firstProblem(error) : problemOf(error);
    const isAbsent = problem.code === "config-missing" && flags.config === undefined;
    const config = isAbsent ? assumeConfig(environment) : undefined;
    if (config === undefined) return { isAssumed: true, result: failedBy("config-unusable", problem) };
    const message = "none; default settings with the given address. `draftsync init` creates one";
    return { config, isAssumed: true, result: ok("config-absent", message) };
  }
}

function firstProblem({ code, message, diagnostics }: DiagnosticsError): Problem {
  const first = diagnostics.find(({ severity }) => severity === "error");
  const where = first?.place === undefined ? "" : `${formatLocation(first.place)}: `;
  return { code, message: `${message}: ${where}${first?.message ?? ""}`, hint: first?.hint };
}

interface CheckOptions {
  readonly workspace: Workspace;
  readonly flags: DoctorFlags;
  readonly target: FileTarget | undefined;
  /** The results so far. */
  readonly machine: Results<"machine">;
  /** There is no workspace whose ledger could keep the rate limit. */
  readonly withoutLedger: boolean;
}

interface Checked {
  readonly checks: readonly Check[];
  readonly calls: number;
  readonly exit?: ExitCode | undefined;
}

async function checkAll(options: CheckOptions): Promise<Checked> {
  const { workspace, target, withoutLedger } = options;
  const { service } = workspace.config;
  const { baseUrl, apiKeyFile, caFile } = service;
  const { env } = workspace.cli;
  const here = {
    env,
    baseUrl,
    apiKeyFile,
    caFile,
    loadAuthorities,
    loadApiKey: () => loadApiKey(service, env),
  };
  const key = await checkApiKey(here);
  const ca_file = await checkAuthorities(here);
  const proxy = await checkProxy(here);
  const isReady = key.status !== "failed" && ca_file.status !== "failed";
  const ledger: CheckResult = withoutLedger
    ? ok("ledger-none", "none: there is no workspace")
    : await checkLedger(() => openLedger(workspace, isReady ? "write" : "read"));
  const machine = { ...options.machine, key, ca_file, proxy, ledger };
  const stop = (reason: SkipReason, results: Results<"machine"> = machine): Checked => ({
    checks: [
      ...listChecks("machine", results, reason),
      ...listChecks("service", {}, reason),
      ...(target === undefined ? [] : listChecks("draft", {}, reason)),
    ],
    calls: 0,
  });
  if (!isReady) return stop(key.status === "failed" ? "key" : "options");
  if (ledger.status === "failed") return stop("ledger");
  let client: DoctorClient;
  try {
    client = await openClient(workspace, withoutLedger);
  } catch (error) {
    const problem = problemOf(error);
    const failed = failedBy("options-unusable", problem);
    if (problem.code === "api-key-invalid") return stop("options", { ...machine, key: failed });
    if (problem.code === "proxy-invalid") return stop("options", { ...machine, proxy: failed });
    const { checks, calls } = stop("options");
    return {
      checks: checks.map((check) => (check.name === "address" ? { ...check, ...failed } : check)),
      calls,
    };
  }
  const checks = [...listChecks("machine", machine, "config"), ...(await sampleService(workspace, client))];
  const probed = await probeIfRequested({ ...options, client, checks });
  return { checks: [...checks, ...probed.checks], calls: client.callCount(), exit: probed.exit };
}

/** Opened to write, a missing ledger is created, as by every command that makes calls: it keeps the rate limit. */
async function openLedger(workspace: Workspace, access: "read" | "write") {
  const ledger = access === "write" ? await workspace.ledger() : await workspace.reader();
  assertOwner(await ledger.owner(), workspace.owner);
  return ledger;
}

function openClient(workspace: Workspace, withoutLedger: boolean): Promise<DoctorClient> {
  const emit: EventSink = (event) => {
    if (event.type === "waiting") workspace.cli.terminal.err(`${formatWaiting(event)}\n`);
  };
  return workspace.connectDoctor(emit, { withoutLedger });
}

async function sampleService({ cli, config }: Workspace, client: DoctorClient): Promise<readonly Check[]> {
  const { rate, concurrency, profile, origin, baseUrl = "http://localhost" } = config.service;
  cli.terminal.err(formatSampleNotice(origin, rate));
  const samples = await client.sample(cli.signal);
  if (cli.signal.aborted) return listChecks("service", {}, "interrupted");
  const contentType = profile.content_type;
  return checkService(samples, { baseUrl, rate, concurrency, contentType, now: systemClock.now() });
}

/** The checks that must pass before a call that may change something. */
const required: ReadonlySet<string> = new Set(["address", "key_accepted", "version"]);

interface ProbeOptions extends CheckOptions {
  readonly client: DoctorClient;
  readonly checks: readonly Check[];
}

async function probeIfRequested({
  target,
  flags,
  workspace,
  client,
  checks,
}: ProbeOptions): Promise<Pick<Checked, "checks" | "exit">> {
  if (target === undefined) return { checks: [] };
  if (workspace.cli.signal.aborted) return { checks: listChecks("draft", {}, "interrupted") };
  if (checks.some(({ name, status }) => required.has(name) && status === "failed")) {
    return { checks: listChecks("draft", {}, "address") };
  }
  const { autoApprove: approved, lockTimeout } = flags;
  return probeFile({ workspace, client, target, approved, lockTimeout });
}

interface Report extends Checked {
  readonly flags: DoctorFlags;
  readonly config?: Config;
  readonly target?: FileTarget | undefined;
}

async function report(cli: Cli, { flags, checks, calls, exit, config, target }: Report): Promise<void> {
  const docs = new Map((await readErrorDocs()).map((doc) => [doc.code, doc]));
  const { origin: service, profile } = config?.service ?? {};
  const view = viewDoctor({ service, calls, checks, profile, target, explain: (code) => docs.get(code) });
  if (flags.json) printJson(cli, view);
  else cli.terminal.out(formatDoctor(view, cli.terminal.paintOut));
  // An interrupt and a call in doubt have exit codes of their own.
  if (exit !== undefined) cli.end(exit);
  else if (view.summary.failed > 0 && !cli.signal.aborted) cli.end(exitCode.error);
}
