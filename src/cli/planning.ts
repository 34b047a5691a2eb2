import { loadManifests } from "../manifest/load-manifests.ts";
import { formatAddress } from "../model/address.ts";
import type { Desired } from "../model/desired.ts";
import type { Diagnostic } from "../model/diagnostic.ts";
import { hasErrors } from "../model/diagnostic.ts";
import type { Plan } from "../model/plan.ts";
import type { Place } from "../model/position.ts";
import { placeAt } from "../model/position.ts";
import type { Recorded } from "../model/recorded.ts";
import type { AttributeName } from "../model/resource.ts";
import { attributeNames } from "../model/resource.ts";
import { buildPlan } from "../plan/build-plan.ts";
import { assertOwner } from "../plan/ownership.ts";
import type { PlaceFinder } from "../report/progress-text.ts";
import { DiagnosticsError } from "./cli-error.ts";
import type { Config } from "./config.ts";
import { refuseUntilTakenIn } from "./recovery.ts";
import type { Workspace } from "./workspace.ts";

/** What the manifests ask for, and the warnings they gave rise to. */
export interface DesiredState {
  readonly desired: Desired;
  readonly diagnostics: readonly Diagnostic[];
  readonly files: readonly string[];
}

/** Reads the manifests. Throws {@link DiagnosticsError} with everything that was found when any of it is an error. */
export async function loadDesired(config: Config, sources: "hash" | "stat"): Promise<DesiredState> {
  const loaded = await loadManifests({ root: config.root, patterns: config.manifests, sources });
  if (hasErrors(loaded.diagnostics)) throw new DiagnosticsError(loaded.diagnostics);
  return loaded;
}

/** A plan and what it was made from. */
export interface PlannedState {
  readonly plan: Plan;
  readonly recorded: Recorded;
  readonly desired: Desired;
}

/**
 * Manifests -> desired, ledger -> recorded, both -> plan. Throws {@link DiagnosticsError},
 * and `CliError` `outcomes-not-taken-in` while what the ledger holds is not all that was done.
 */
export async function makePlan(workspace: Workspace, targets: readonly string[]): Promise<PlannedState> {
  const { config } = workspace;
  refuseUntilTakenIn(config);
  const { desired, diagnostics } = await loadDesired(config, "hash");
  const recorded = await (await workspace.reader()).load();
  assertOwner(recorded, { origin: config.service.origin, workspace: config.workspace });
  const plan = buildPlan({
    workspace: config.workspace,
    serviceOrigin: config.service.origin,
    desired,
    recorded,
    rate: config.service.rate,
    diagnostics,
    targets,
  });
  if (hasErrors(plan.diagnostics)) throw new DiagnosticsError(plan.diagnostics);
  return { plan, recorded, desired };
}

/** Leads from an address, and an attribute's name, to the manifest line that wrote it. */
export function makePlaceFinder(desired: Desired): PlaceFinder {
  const attachments = new Map(
    desired.drafts
      .flatMap((draft) => draft.attachments)
      .map((item) => [formatAddress(item.address), item] as const),
  );
  const others = new Map<string, Place>([
    ...desired.drafts.map(
      ({ draftId, file, position, publish }) =>
        [`drafts/${draftId}/product`, placeAt(file, publish?.position ?? position)] as const,
    ),
    ...desired.duplicates.map(
      ({ name, file, position }) => [`duplicates/${name}`, placeAt(file, position)] as const,
    ),
  ]);
  return (address, attribute) => {
    const attachment = attachments.get(address);
    if (attachment === undefined) return others.get(address);
    const position = attribute === undefined ? undefined : positionOf(attachment.positions, attribute);
    return placeAt(attachment.file, position ?? attachment.position);
  };
}

function positionOf(
  positions: Readonly<Partial<Record<AttributeName | "ref", number>>>,
  attribute: string,
): number | undefined {
  if (attribute === "file_id") return positions.ref;
  const names: readonly AttributeName[] = [
    ...attributeNames.product_files,
    ...attributeNames.promotional_files,
  ];
  const name = names.find((known) => known === attribute);
  return name === undefined ? undefined : positions[name];
}
