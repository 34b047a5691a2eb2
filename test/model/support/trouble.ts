import type { Fault } from "../../support/faulty-proxy.ts";

/**
 * What goes wrong in an apply: a fault or an end at its `at`th writing call whose path begins with `path`, or its end at
 * its `at`th step at the ledger. With `survives` a fault is followed by the end, so many steps at the ledger later.
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
  | { readonly type: "kill-on-wire"; readonly path: string; readonly at: number };
