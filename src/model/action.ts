/**
 * The order in which the changes of one draft are applied. A stage starts when every operation of the one
 * before it is confirmed; a failure or a doubt stops the later stages of its own draft and nothing else.
 * Drafts do not wait for each other, but for one case: a duplicate of "the product of draft D" waits for D.
 *
 * ```
 *   ledger ──► upload ──► attach ──► detach ──► publish ──► duplicate
 *   protect    bytes,     create     delete     product     copy of the
 *   adopt      register,  update     replace:               draft's product
 *   forget     poll       replace:   the recorded file
 *                         the new file
 *                         in doubt: is it attached?
 * ```
 *
 * Attaching before detaching means that a draft never lacks a file that both sides of a replacement hold.
 */
export const stages = ["ledger", "upload", "attach", "detach", "publish", "duplicate"] as const;

/** One of {@link stages}. */
export type Stage = (typeof stages)[number];

interface ActionEntry {
  /** What it does, in order; each stage but `ledger` makes one call. A new file may need an upload first. */
  readonly stages: readonly Stage[];
  /** Its sign in a plan. */
  readonly sign: string;
  /** How a plan counts it: "3 to create". */
  readonly planned: string;
  /** What a run says of it when it is done. */
  readonly done: string;
  /** Its place in a shortened report; the highest comes first. */
  readonly weight: number;
}

/** All that differs by action alone, in the order in which summaries show them. */
export const actionTable = {
  create: { stages: ["attach"], sign: "+", planned: "to create", done: "attached", weight: 3 },
  update: { stages: ["attach"], sign: "~", planned: "to update", done: "updated", weight: 4 },
  replace: { stages: ["attach", "detach"], sign: "-/+", planned: "to replace", done: "replaced", weight: 5 },
  adopt: { stages: ["ledger"], sign: "=", planned: "to adopt", done: "recorded", weight: 2 },
  delete: { stages: ["detach"], sign: "-", planned: "to delete", done: "detached", weight: 6 },
  publish: { stages: ["publish"], sign: "!", planned: "to publish", done: "published", weight: 8 },
  duplicate: { stages: ["duplicate"], sign: "!", planned: "to duplicate", done: "duplicated", weight: 7 },
  forget: { stages: ["ledger"], sign: "x", planned: "to forget", done: "forgotten", weight: 1 },
  in_doubt: { stages: ["attach"], sign: "?", planned: "in doubt", done: "settled", weight: 9 },
  noop: { stages: [], sign: " ", planned: "unchanged", done: "unchanged", weight: 0 },
} as const satisfies Readonly<Record<string, ActionEntry>>;

/** What a plan does about one resource. */
export type Action = keyof typeof actionTable;

/** Every {@link Action}, in the order of summaries. */
export const actions: readonly Action[] = Object.keys(actionTable).filter(isAction);

function isAction(name: string): name is Action {
  return name in actionTable;
}
