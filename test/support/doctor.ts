import type { DoctorView } from "../../src/doctor/report.ts";
import type { RunOptions } from "./cli.ts";
import { draftsync } from "./cli.ts";

/** The report of `draftsync doctor --json`, and the exit code. */
export interface Doctored {
  readonly code: number;
  readonly stderr: string;
  readonly view: DoctorView;
  /** `status code` of each check by its name. */
  readonly found: Readonly<Record<string, string>>;
}

/** Runs the real `draftsync doctor --json`. */
export async function doctor(args: readonly string[], options: RunOptions): Promise<Doctored> {
  const { code, stdout, stderr } = await draftsync(["doctor", "--json", ...args], options);
  const view: DoctorView = JSON.parse(stdout === "" ? "null" : stdout);
  if (view === null) throw new Error(`doctor printed nothing: ${stderr}`);
  const found = Object.fromEntries(view.checks.map((check) => [check.name, `${check.status} ${check.code}`]));
  return { code, stderr, view, found };
}

/** The service checks of a sandbox with default behavior, on this machine, without TLS. */
export const usualService = {
  address: "ok address-reachable",
  tls: "ok tls-local",
  key_accepted: "ok key-accepted",
  wrong_key: "ok wrong-key-refused",
  version: "ok version-checked",
  media_types: "ok media-types-lenient",
  errors: "ok errors-jsonapi",
  uploads_query: "ok uploads-query-works",
  rate: "unknown rate-not-announced",
  clock: "ok clock-right",
  latency: "ok latency-measured",
} as const;

/** All checks with this sandbox. */
export const usual = {
  node: "ok node-supported",
  config: "ok config-read",
  key: "ok key-found",
  proxy: "ok proxy-none",
  ledger: "ok ledger-open",
  ...usualService,
} as const;

/** The checks of a probed file with this sandbox. */
export const usualDraft = {
  probe: "ok probe-harmless",
  data_type: "ok data-type-as-set",
  data_id: "ok data-id-is-file",
  update_method: "ok method-same",
} as const;
