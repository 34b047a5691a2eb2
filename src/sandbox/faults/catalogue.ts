/**
 * Whether a request with a fault takes effect: not at all; before the fault is seen; or after it, which is what a
 * lost call does that is still on its way.
 */
export type Effect = "none" | "before" | "after";

/** What a rule may say beside its fault. */
export type Parameter = "for" | "late" | "as" | "status" | "pointer" | "to";

/** What rules may say about one fault. */
export interface FaultEntry {
  /** The effects it can have; the first one is meant when a rule says none. */
  readonly effects: readonly [Effect, ...Effect[]];
  readonly takes: readonly Parameter[];
  /** Whether storage can have it too. */
  readonly storage: boolean;
}

/** Faults of a connection: bytes on a socket, and no answer that is whole. */
const WIRE_FAULTS = {
  reset: { effects: ["none", "before", "after"], takes: ["late"], storage: true },
  close: { effects: ["none", "before"], takes: [], storage: true },
  stall: { effects: ["none", "before"], takes: ["for"], storage: true },
  "cut-body": { effects: ["before"], takes: [], storage: true },
  "cut-chunks": { effects: ["before"], takes: [], storage: true },
  garbage: { effects: ["none", "before"], takes: [], storage: true },
  "huge-body": { effects: ["before", "none"], takes: ["for"], storage: true },
} as const satisfies Record<string, FaultEntry>;

/** Faults in an answer that is whole. */
const ANSWER_FAULTS = {
  delay: { effects: ["before", "after"], takes: ["for"], storage: true },
  status: { effects: ["none", "before"], takes: ["status", "for"], storage: true },
  throttle: { effects: ["none"], takes: ["for", "as"], storage: false },
  "conflict-html": { effects: ["none", "before"], takes: [], storage: false },
  invalid: { effects: ["none"], takes: ["pointer"], storage: false },
  redirect: { effects: ["none"], takes: ["to"], storage: true },
  "echo-key": { effects: ["none"], takes: [], storage: false },
  "escape-text": { effects: ["none"], takes: [], storage: false },
  compressed: { effects: ["before"], takes: [], storage: false },
  "media-type": { effects: ["before"], takes: [], storage: false },
  "data-with-errors": { effects: ["before"], takes: [], storage: false },
  "no-id": { effects: ["before"], takes: [], storage: false },
  "other-type": { effects: ["before"], takes: [], storage: false },
  "big-id": { effects: ["before"], takes: [], storage: false },
  "no-content": { effects: ["before"], takes: [], storage: false },
  accepted: { effects: ["before", "after", "none"], takes: ["late"], storage: false },
  "foreign-endpoint": { effects: ["before"], takes: ["to"], storage: false },
} as const satisfies Record<string, FaultEntry>;

/** A fault that is made with a socket. */
export type WireFault = keyof typeof WIRE_FAULTS;

/** A fault that is made with an answer. */
export type AnswerFault = keyof typeof ANSWER_FAULTS;

/** Everything that can be made to fail. */
export type FaultName = WireFault | AnswerFault;

/** What rules may say about each fault. docs/reference/sandbox.md says what each one does. */
export const FAULTS: Readonly<Record<FaultName, FaultEntry>> = { ...WIRE_FAULTS, ...ANSWER_FAULTS };

const NAMES: ReadonlySet<string> = new Set(Object.keys(FAULTS));

/** Whether there is a fault of that name. */
export function isFaultName(name: string): name is FaultName {
  return NAMES.has(name);
}

/** Whether a fault is one of {@link WireFault}. */
export function isWireFault(name: FaultName): name is WireFault {
  return Object.hasOwn(WIRE_FAULTS, name);
}
