import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { RunLimits } from "../../apply/run-budget.ts";
import { type LoadedManifests, loadManifests } from "../../manifest/load-manifests.ts";
import type { ParseManifestsOptions } from "../../manifest/parse-manifests.ts";
import { publicationAddress } from "../../model/address.ts";
import type { Desired } from "../../model/desired.ts";
import { attachmentsByAddress } from "../../model/desired.ts";
import type { Diagnostic } from "../../model/diagnostic.ts";
import { hasErrors } from "../../model/diagnostic.ts";
import type { EventSink } from "../../model/event.ts";
import { lazily } from "../../model/lazily.ts";
import type { Observed, RefreshMode } from "../../model/observed.ts";
import type { Plan } from "../../model/plan.ts";
import type { Recorded } from "../../model/recorded.ts";
import { attributeNames } from "../../model/resource.ts";
import type { SourceLocation } from "../../model/source-location.ts";
import { locationAt, positionAt } from "../../model/source-location.ts";
import { buildPlan } from "../../plan/build-plan.ts";
import { assertOwner } from "../../plan/ownership.ts";
import { resolveTargets } from "../../plan/target-names.ts";
import type { LocationFinder } from "../../report/failures.ts";
import { describeHolder } from "../../report/lock-text.ts";
import type { Cli } from "../cli.ts";
import type { Config } from "../config.ts";
import { packageFolder } from "../package-files.ts";
import { DiagnosticsError, interruptedWhile } from "./cli-error.ts";
import { pathInWorkspace } from "./path-in-workspace.ts";
import { refuseWhileRecoveryPending } from "./recovery.ts";
import { refresh } from "./refresh.ts";
import type { Workspace } from "./workspace.ts";

/** Reads the manifests. Throws {@link CliError} `aborted` after an interrupt. */
export async function readManifests(
  { env, signal }: Pick<Cli, "env" | "signal">,
  config: Config,
  sources: "hash" | "stat",
): Promise<LoadedManifests> {
  return await loadManifests({
    root: config.root,
    patterns: config.manifests,
    patternLocations: config.manifestLocations,
    secretFiles: [config.service.apiKeyFile, config.notify.urlFile].filter((file) => file !== undefined),
    sources,
    signal,
    ...parseCacheOptions(config.root, env),
  }).catch((error: unknown) => {
    if (!signal.aborted) throw error;
    throw interruptedWhile("reading the manifests");
  });
}

/** As {@link readManifests}; throws {@link DiagnosticsError} with everything that was found when any of it is an error. */
export async function loadDesired(
  cli: Pick<Cli, "env" | "signal">,
  config: Config,
  sources: "hash" | "stat",
): Promise<Extract<LoadedManifests, { ok: true }>> {
  const loaded = await readManifests(cli, config, sources);
  if (!loaded.ok) throw new DiagnosticsError(loaded.diagnostics);
  return loaded;
}

/** A plan and what it was made from. */
export interface PlannedState {
  readonly plan: Plan;
  readonly recorded: Recorded;
  readonly desired: Desired;
}

/** How a plan is to be made. */
export interface PlanRequest {
  /** What `resolveTargets` reads; empty: everything. */
  readonly targets: readonly string[];
  /** How much of the service is checked first; absent: nothing. */
  readonly refresh?: RefreshMode;
  /** Whether attachments are checked, instead of what the config says. */
  readonly attachments?: "none" | "probe";
  /** Those of the command, of which a refresh may take a part. */
  readonly limits?: RunLimits;
  /** The lock is held: what was confirmed by looking enters the ledger. */
  readonly underLock?: boolean;
  /** What happens meanwhile. */
  readonly emit: EventSink;
}

/**
 * Manifests -> desired, ledger -> recorded, service -> observed, all three -> plan. Throws {@link DiagnosticsError},
 * and `CliError` `recovery-pending` while outcomes wait in the recovery log, or an error of the service that a refresh
 * needs.
 */
export async function makePlan(
  cli: Pick<Cli, "cwd" | "env" | "signal">,
  workspace: Workspace,
  request: PlanRequest,
): Promise<PlannedState> {
  const { config } = workspace;
  refuseWhileRecoveryPending(config);
  // Of a large workspace each takes a while, and most of it on other threads.
  const [read, loaded] = await Promise.allSettled([loadDesired(cli, config, "hash"), load(workspace)]);
  const { desired, diagnostics } = settledValue(read);
  const known = settledValue(loaded);
  const folder = pathInWorkspace(cli, config, ".");
  const targets = resolveTargets(request.targets, desired, { titles: known.titles, folder });
  const { recorded, observed } = await observeService(cli, workspace, {
    desired,
    recorded: known,
    request: { ...request, targets },
  });
  const plan = buildPlan({
    workspace: config.workspace,
    serviceOrigin: config.service.origin,
    desired,
    recorded,
    ...(observed === undefined ? {} : { observed }),
    rate: config.service.rate,
    profile: config.service.profile,
    diagnostics: [
      ...diagnostics,
      ...nothingDeclared(desired),
      ...(request.underLock ? [] : await runUnderWay(workspace, recorded)),
    ],
    targets,
  });
  if (hasErrors(plan.diagnostics)) throw new DiagnosticsError(plan.diagnostics);
  return { plan, recorded, desired };
}

/** Warns of drafts that ask for nothing yet, as in the manifest that `init` writes. */
function nothingDeclared({ drafts, duplicates }: Desired): readonly Diagnostic[] {
  const isBlank = drafts.every(({ managed, publish }) => managed.length === 0 && publish === undefined);
  const [first] = drafts;
  if (first === undefined || !isBlank || duplicates.length > 0) return [];
  const message = "The manifests declare no files, publish or duplicate";
  const hint = `Add product_files, promotional_files or publish to a draft, such as the one in ${first.file}.`;
  return [{ severity: "warning", code: "nothing-declared", message, hint }];
}

/** Warns when a different process has calls in flight: they have no outcome yet, like those of a crash. */
async function runUnderWay(workspace: Workspace, { inDoubt }: Recorded): Promise<readonly Diagnostic[]> {
  if (inDoubt.every(({ finishedAt }) => finishedAt !== undefined)) return [];
  const lock = await (await workspace.reader()).heldLock();
  if (lock === undefined || lock.state === "ended" || lock.state === "expired") return [];
  const message = `${describeHolder(lock)} is running: calls that it has sent are shown as in doubt`;
  const hint = "Plan again when it has ended, and resolve nothing before.";
  return [{ severity: "warning", code: "run-under-way", message, hint }];
}

function settledValue<T>(result: PromiseSettledResult<T>): T {
  if (result.status === "fulfilled") return result.value;
  throw result.reason;
}

async function load(workspace: Workspace): Promise<Recorded> {
  return (await workspace.reader()).load();
}

/** What is recorded, and observed when that is asked for; with what was confirmed already in the ledger. */
async function observeService(
  cli: Pick<Cli, "signal">,
  workspace: Workspace,
  {
    desired,
    recorded,
    request,
  }: { readonly desired: Desired; readonly recorded: Recorded; readonly request: PlanRequest },
): Promise<{ readonly recorded: Recorded; readonly observed?: Observed }> {
  const { config } = workspace;
  const owner = { origin: config.service.origin, workspace: config.workspace };
  assertOwner(recorded, owner);
  if (request.refresh === undefined) return { recorded };
  const { refresh: mode, underLock, ...rest } = request;
  const observed = await refresh(cli, workspace, { mode, desired, recorded, ...rest });
  if (!underLock || observed.confirmations.length === 0) return { recorded, observed };
  const ledger = await workspace.ledger();
  // A target that was only tried is no response that was accepted.
  if (observed.confirmations.some(({ type }) => type !== "refreshed")) await ledger.bind(owner);
  await ledger.record(observed.confirmations);
  return { recorded: await ledger.load(), observed };
}

/** Leads from an address, and an attribute's name, to the manifest line that wrote it. */
export function makeLocationFinder(desired: Desired): LocationFinder {
  const attachments = attachmentsByAddress(desired);
  const others = new Map<string, SourceLocation>([
    ...desired.drafts.map(
      ({ draftId, file, position, publish }) =>
        [publicationAddress(draftId), locationAt(file, publish?.position ?? position)] as const,
    ),
    ...desired.duplicates.map(
      ({ name, file, position }) => [`duplicates/${name}`, locationAt(file, position)] as const,
    ),
  ]);
  return (address, attribute) => {
    const attachment = attachments.get(address);
    if (attachment === undefined) return others.get(address);
    const { file, position, layout, defaults } = attachment;
    const name = attribute === "file_id" ? "ref" : knownNames.find((known) => known === attribute);
    const offset = name === undefined ? undefined : layout[name];
    if (offset !== undefined) return locationAt(file, positionAt(position, offset));
    const byDefault = name === undefined || name === "ref" ? undefined : defaults?.[name];
    return byDefault ?? locationAt(file, position);
  };
}

const knownNames = [...attributeNames.product_files, ...attributeNames.promotional_files];

/** More threads than these wait for the main one, which collects their results. */
const maxThreads = 8;

/**
 * The parse cache of a workspace, and the worker that parses many manifests. The cache is in the user's own cache folder:
 * a pull request can change any file of the workspace, and must not decide what a manifest contains. Sources that are
 * not compiled have neither.
 */
function parseCacheOptions(
  root: string,
  env: NodeJS.ProcessEnv,
): Pick<ParseManifestsOptions, "workers" | "cache"> {
  if (import.meta.url.endsWith(".ts")) return {};
  const workers = {
    script: new URL("dist/manifest/parse-worker.js", packageFolder),
    count: Math.min(availableParallelism(), maxThreads),
  };
  const folder = cacheFolder(env);
  if (folder === undefined) return { workers };
  const name = createHash("sha256").update(root).digest("hex").slice(0, 16);
  const path = join(folder, "draftsync", `${name}.jsonl`);
  return { workers, cache: { path, version: lazily(programVersion) } };
}

/**
 * The program's version, and a digest of its whole code, as any part may decide what a manifest contains. Modification
 * times do not tell versions apart: package managers set the same one for all files.
 */
function programVersion(): string {
  const hash = createHash("sha256").update(readFileSync(new URL("package.json", packageFolder)));
  const folder = fileURLToPath(new URL("dist/", packageFolder));
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
  for (const file of files.filter((file) => /\.js$/.test(file)).sort()) {
    hash.update(`${file}\n`).update(readFileSync(join(folder, file)));
  }
  return hash.digest("base64url");
}

/** https://specifications.freedesktop.org/basedir-spec/latest/ and its equivalent on Windows. */
function cacheFolder({
  XDG_CACHE_HOME: xdg,
  HOME: home,
  LOCALAPPDATA: local,
}: NodeJS.ProcessEnv): string | undefined {
  const folder = xdg || (process.platform === "win32" ? local : home && join(home, ".cache"));
  return folder !== undefined && isAbsolute(folder) ? folder : undefined;
}
