import { append } from "../model/lists.ts";
import type { Observation, RefreshTarget } from "../model/observed.ts";
import { causeOf } from "../model/outcome.ts";
import { maxNamedAddresses } from "./failures.ts";
import type { Palette } from "./palette.ts";
import { formatCount, plural } from "./quantities.ts";
import { sanitizeLine } from "./sanitize-text.ts";

/** The result of an import, by address. The lists have the order of the arguments. */
export interface AdoptionView {
  /** Recorded now. `in_manifest`: whether a manifest asks for it; the next plan detaches a file of which none does. */
  readonly adopted: readonly {
    readonly address: string;
    readonly id: number;
    readonly in_manifest: boolean;
  }[];
  /** Not there: it stays for a plan to make. */
  readonly absent: readonly string[];
  readonly unreadable: readonly Unreadable[];
  /** Not read, because the command was stopped before. */
  readonly left: readonly string[];
  /** Not read, because an upload has no file id before it ends. */
  readonly skipped: readonly string[];
}

interface Unreadable {
  readonly address: string;
  /** The cause, which other addresses may have too. */
  readonly message: string;
}

/** What the view is made from. */
export interface AdoptionInput {
  readonly targets: {
    readonly targets: readonly Extract<RefreshTarget, { address: string }>[];
    readonly skipped: readonly string[];
  };
  readonly observations: readonly Observation[];
  /** Addresses of the files that the manifests declare. */
  readonly declared: ReadonlySet<string>;
}

/** Sorts what was observed into what was adopted and what was not. Pure. */
export function viewAdoptions({ targets, observations, declared }: AdoptionInput): AdoptionView {
  const observed = new Map(
    observations.flatMap((observation) =>
      observation.type === "uploads" ? [] : [[observation.address, observation.read] as const],
    ),
  );
  const found = targets.targets.map((target) => ({ target, read: observed.get(target.address) }));
  return {
    adopted: found
      .filter(({ read }) => read?.type === "present")
      .map(({ target }) => ({
        address: target.address,
        id: target.type === "attachment" ? target.target.fileId : target.productId,
        in_manifest: target.type === "product" || declared.has(target.address),
      })),
    absent: found.filter(({ read }) => read?.type === "absent").map(({ target }) => target.address),
    unreadable: found.flatMap(({ target, read }) =>
      read?.type === "unreadable" ? [{ address: target.address, message: causeOf(read.failure) }] : [],
    ),
    left: found.filter(({ read }) => read === undefined).map(({ target }) => target.address),
    skipped: targets.skipped,
  };
}

/** The view for a terminal or a log. Ends with a line feed. */
export function formatAdoptions(view: AdoptionView, calls: number, paint: Palette): string {
  const line = (symbol: string, address: string, note: string) =>
    `${symbol.padStart(5)} ${sanitizeLine(address)}${note === "" ? "" : paint("muted", `  (${sanitizeLine(note)})`)}`;
  const lines = [
    ...view.adopted.map(({ address, in_manifest }) =>
      line(
        "=",
        address,
        in_manifest ? "" : "not in a manifest: the next plan deletes it if a manifest has its list",
      ),
    ),
    ...view.absent.map((address) => line("-", address, "is not there")),
    ...causesOf(view.unreadable).flatMap(([cause, addresses]) => [
      ...addresses.slice(0, 1).map((address) => line("?", address, `could not be read: ${cause}`)),
      ...more(addresses.length - 1, " for the same cause"),
    ]),
    ...view.left.slice(0, maxNamedAddresses).map((address) => line("·", address, "not checked")),
    ...more(view.left.length - maxNamedAddresses),
  ];
  const counts = [
    `${formatCount(view.adopted.length)} adopted`,
    ...(view.absent.length > 0 ? [`${formatCount(view.absent.length)} not there`] : []),
    ...(view.unreadable.length > 0 ? [`${formatCount(view.unreadable.length)} could not be read`] : []),
    ...(view.left.length > 0 ? [`${formatCount(view.left.length)} not checked`] : []),
    ...(view.skipped.length > 0 ? [`${formatCount(view.skipped.length)} still to be uploaded`] : []),
  ].join(", ");
  const head = `${paint("strong", "Imported:")} ${counts}. ${plural(calls, "call")}; nothing was changed at the service.`;
  return `${[...lines, ...(lines.length > 0 ? [""] : []), head].join("\n")}\n`;
}

function causesOf(unreadable: readonly Unreadable[]): readonly (readonly [string, readonly string[]])[] {
  const causes = new Map<string, string[]>();
  for (const { address, message } of unreadable) append(causes, message, address);
  return [...causes];
}

function more(count: number, why = ""): readonly string[] {
  return count > 0 ? [`      and ${formatCount(count)} more${why}; --json lists them`] : [];
}
