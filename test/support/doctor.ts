import type { ExaminationView } from "../../src/report/doctor-view.ts";
import type { RunOptions } from "./cli.ts";
import { draftsync } from "./cli.ts";

/** What `draftsync doctor --json` said, and how it ended. */
export interface Examined {
  readonly code: number;
  readonly stderr: string;
  readonly view: ExaminationView;
  /** `status code` of each check by its name. */
  readonly found: Readonly<Record<string, string>>;
}

/** Runs the real `draftsync doctor --json`. */
export async function examine(args: readonly string[], options: RunOptions): Promise<Examined> {
  const { code, stdout, stderr } = await draftsync(["doctor", "--json", ...args], options);
  const view: ExaminationView = JSON.parse(stdout === "" ? "null" : stdout);
  if (view === null) throw new Error(`doctor said nothing: ${stderr}`);
  const found = Object.fromEntries(
    view.checks.map(({ name, status, code: finding }) => [name, `${status} ${finding}`]),
  );
  return { code, stderr, view, found };
}

/** What is found at a service of which nothing is switched, on this machine, without TLS. */
export const usualLooks = {
  address: "ok address-answers",
  tls: "ok tls-local",
  key_accepted: "ok key-accepted",
  wrong_key: "ok wrong-key-refused",
  version: "ok version-checked",
  media_types: "ok media-types-lenient",
  errors: "ok errors-jsonapi",
  uploads_query: "ok uploads-query-works",
  rate: "not_known rate-not-announced",
  clock: "ok clock-right",
  pace: "ok pace-measured",
} as const;

/** What doctor finds at that service. */
export const usual = {
  node: "ok node-supported",
  config: "ok config-read",
  key: "ok key-found",
  proxy: "ok proxy-none",
  ledger: "ok ledger-open",
  ...usualLooks,
} as const;

/** The same of a file that was probed. */
export const usualDraft = {
  probe: "ok probe-harmless",
  data_type: "ok data-type-as-set",
  data_id: "ok data-id-is-file",
  update_method: "ok method-same",
} as const;
