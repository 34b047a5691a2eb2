import type { Fault } from "../../support/faulty-proxy.ts";

/**
 * A failure during an apply: a fault or kill at the `at`th writing call whose path begins with `path`, or a kill at
 * the `at`th step of the ledger. With `survives`, a kill follows a fault after this number of steps; with `isLate`, the call arrives after the kill.
 */
export type Trouble =
  | {
      readonly type: "fault";
      readonly path: string;
      readonly at: number;
      readonly fault: Fault;
      readonly survives?: number;
    }
  | { readonly type: "kill" | "takeover"; readonly at: number }
  | { readonly type: "kill-on-wire"; readonly path: string; readonly at: number; readonly isLate?: boolean };
