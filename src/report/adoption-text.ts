import type { Desired } from "../model/desired.ts";
import { attachmentsByAddress } from "../model/desired.ts";
import type { Look, Sighting } from "../model/observed.ts";
import { inertLine } from "./inert-text.ts";
import type { Palette } from "./palette.ts";
import { formatCount, plural } from "./quantities.ts";

/** What became of an import, by address. The lists are sorted as they were asked for. */
export interface AdoptionView {
  /** Recorded now. `in_manifest`: whether a manifest asks for it; the next plan detaches a file of which none does. */
  readonly adopted: readonly {
    readonly address: string;
    readonly id: number;
    readonly in_manifest: boolean;
  }[];
  /** Not there: it stays for a plan to make. */
  readonly absent: readonly string[];
  readonly unreadable: readonly { readonly address: string; readonly message: string }[];
  /** Not looked at, because the command was stopped before. */
  readonly left: readonly string[];
  /** Not looked at, because their file id is not known before they are uploaded. */
  readonly skipped: readonly string[];
}

/** What the view is made from. */
export interface AdoptionInput {
  readonly targets: {
    readonly looks: readonly Extract<Look, { address: string }>[];
    readonly skipped: readonly string[];
  };
  readonly sightings: readonly Sighting[];
  readonly desired: Desired;
}

/** Sorts what was seen into what was adopted and what was not. Pure. */
export function viewAdoptions({ targets, sightings, desired }: AdoptionInput): AdoptionView {
  const seen = new Map(
    sightings.flatMap((sighting) =>
      sighting.type === "uploads" ? [] : [[sighting.address, sighting.finding] as const],
    ),
  );
  const asked = attachmentsByAddress(desired);
  const found = targets.looks.map((look) => ({ look, finding: seen.get(look.address) }));
  return {
    adopted: found
      .filter(({ finding }) => finding?.type === "present")
      .map(({ look }) => ({
        address: look.address,
        id: look.type === "attachment" ? look.target.fileId : look.productId,
        in_manifest: look.type === "product" || asked.has(look.address),
      })),
    absent: found.filter(({ finding }) => finding?.type === "absent").map(({ look }) => look.address),
    unreadable: found.flatMap(({ look, finding }) =>
      finding?.type === "unreadable" ? [{ address: look.address, message: finding.failure.message }] : [],
    ),
    left: found.filter(({ finding }) => finding === undefined).map(({ look }) => look.address),
    skipped: targets.skipped,
  };
}

/** The view for a terminal or a log. Ends with a line feed. */
export function formatAdoptions(view: AdoptionView, calls: number, paint: Palette): string {
  const line = (symbol: string, address: string, note: string) =>
    `${symbol.padStart(5)} ${inertLine(address)}${note === "" ? "" : paint("muted", `  (${inertLine(note)})`)}`;
  const lines = [
    ...view.adopted.map(({ address, in_manifest }) =>
      line("=", address, in_manifest ? "" : "in no manifest: the next plan detaches it"),
    ),
    ...view.absent.map((address) => line("-", address, "is not there")),
    ...view.unreadable.map(({ address, message }) =>
      line("?", address, `could not be looked at: ${message}`),
    ),
    ...view.left.map((address) => line("·", address, "not looked at")),
  ];
  const counts = [
    `${formatCount(view.adopted.length)} adopted`,
    ...(view.absent.length > 0 ? [`${formatCount(view.absent.length)} not there`] : []),
    ...(view.unreadable.length > 0 ? [`${formatCount(view.unreadable.length)} could not be looked at`] : []),
    ...(view.left.length > 0 ? [`${formatCount(view.left.length)} not looked at`] : []),
    ...(view.skipped.length > 0 ? [`${formatCount(view.skipped.length)} still to be uploaded`] : []),
  ].join(", ");
  const head = `${paint("strong", "Imported:")} ${counts}. ${plural(calls, "call")}; nothing was changed at the service.`;
  return `${[...lines, ...(lines.length > 0 ? [""] : []), head].join("\n")}\n`;
}
