import type { Desired } from "../../../src/model/desired.ts";
import type { StoredOperation } from "../../../src/model/history.ts";
import type { NewOperation, OperationResult } from "../../../src/model/ports.ts";
import type { Recorded } from "../../../src/model/recorded.ts";
import type { Attributes } from "../../../src/model/resource.ts";
import type { Passing, PassingEnd } from "../../support/faulty-proxy.ts";
import { attachedBy, attributesOf, fileOf, isWrite, nameOf, nonIdempotentOf } from "./call-details.ts";
import { expectedChanges } from "./expected-changes.ts";

/** A file at the service, and whether draftsync attached it. */
interface Held {
  readonly attributes: Attributes;
  readonly ours: boolean;
}

/** The statuses with which the service itself refuses a publish or duplicate (RELIABILITY, "What a failure means"). */
const refusals: ReadonlySet<number> = new Set([400, 401, 403, 404, 405, 406, 410, 413, 415, 422]);

/**
 * The promises of the program, checked against the requests, the effects at the service and
 * the ledger, without knowledge of the implementation. `violations` is empty while all of them hold.
 */
export class Model {
  readonly violations: string[] = [];
  /** The files attached at the service, by `drafts/1/product_files/11`. */
  readonly held = new Map<string, Held>();
  /** Files changed outside draftsync, whose records prove nothing. */
  readonly drifted = new Set<string>();
  /** Products made by the service, with their source: a draft or the copied product. */
  readonly products = new Map<number, string>();
  /** Publishes and duplicates that were sent and whose outcome is unproven. */
  readonly #unproven = new Map<string, "sent" | "reported">();
  readonly #begun = new Map<string, NewOperation>();
  readonly #finished = new Map<string, OperationResult>();
  readonly #recordedProducts = new Set<number>();

  /** Received writing calls. */
  writes = 0;

  /** A call arrived: its intent must be durable, and it must not be a forbidden repetition. */
  arrived(request: Passing): void {
    if (!isWrite(request)) return;
    this.writes += 1;
    const { method, path } = request;
    const operations = [...this.#begun.values()].filter(
      (each) => each.method === method && each.path === path,
    );
    this.#hold(
      operations.some(({ id }) => !this.#finished.has(id)),
      `P1: ${method} ${path} has no intent`,
    );
    const product = nonIdempotentOf(request);
    if (product !== undefined) {
      this.#hold(!this.#unproven.has(product), `P3: ${method} ${path} again without proof (${product})`);
      this.#unproven.set(product, "sent");
    }
    const file = attachedBy(request);
    if (file !== undefined) this.#hold(!this.held.get(file)?.ours, `P2: ${file} is attached a second time`);
  }

  /** The effect of a call, and whether the client received the response. Returns the product that it made, if any. */
  ended(request: Passing, { served, reported }: PassingEnd): number | undefined {
    const product = nonIdempotentOf(request);
    const effective = served !== undefined && served.status < 300;
    if (product !== undefined) {
      if (reported === 425 || reported === 429) this.#unproven.delete(product);
      else if (reported !== undefined && (reported < 300 || refusals.has(reported)))
        this.#unproven.set(product, "reported");
      if (!effective) return undefined;
      const id = Number(JSON.parse(served.body).data.id);
      this.products.set(id, product);
      return id;
    }
    const file = attachedBy(request) ?? fileOf(request);
    if (!effective || file === undefined) return undefined;
    if (request.method === "DELETE") {
      this.held.delete(file);
      return undefined;
    }
    const attributes = { ...this.held.get(file)?.attributes, ...attributesOf(request) };
    const ours = request.method === "POST" || this.held.get(file)?.ours === true;
    this.held.set(file, { attributes, ours });
    return undefined;
  }

  /** The ledger recorded an intent. */
  begun(operation: NewOperation): void {
    this.#begun.set(operation.id, operation);
  }

  /** The ledger recorded a retry. */
  resent(id: string): void {
    this.#finished.delete(id);
  }

  /** The ledger recorded an outcome. */
  finished(id: string, result: OperationResult): void {
    this.#finished.set(id, result);
    const operation = this.#begun.get(id);
    if (operation?.kind !== "publish" && operation?.kind !== "duplicate") return;
    const product = nonIdempotentOf({ ...operation, body: String(operation.intent.draftId) });
    if (product === undefined || result.outcome === "unknown") return;
    const proven = this.#unproven.get(product) === "reported" || !this.#unproven.has(product);
    this.#hold(
      proven || result.outcome === "not_sent",
      `P3: ${product} ended ${result.outcome} without proof`,
    );
    this.#unproven.delete(product);
  }

  /** The operator resolved a call correctly. */
  resolved(operation: StoredOperation | NewOperation): void {
    const product = nonIdempotentOf({ ...operation, body: String(operation.intent.draftId) });
    if (product !== undefined) this.#unproven.delete(product);
  }

  /** Checks the ledger as a new process finds it. */
  checkLedger(recorded: Recorded, operations: readonly StoredOperation[]): void {
    const stored = new Map(operations.map((operation) => [operation.id, operation]));
    const doubts = new Set(recorded.inDoubt.map(({ id }) => id));
    for (const [id, { address, kind }] of this.#begun) {
      const operation = stored.get(id);
      const end = this.#finished.get(id);
      const open = end === undefined || end.outcome === "unknown";
      this.#hold(operation !== undefined, `P1: the intent of ${kind} ${address} is missing`);
      // An operation without an end was killed, which the next holder of the lock records.
      const { outcome, attempts } = operation ?? {};
      const isOpen = attempts === undefined && (outcome ?? "unknown") === "unknown";
      const isKept = end === undefined ? isOpen : outcome === end.outcome;
      this.#hold(isKept, `P2: ${kind} ${address} ended ${end?.outcome}, but the ledger has ${outcome}`);
      const listed = doubts.has(id) || operation?.settled !== undefined;
      this.#hold(!open || listed, `P4: ${kind} ${address} is in doubt but not listed`);
      this.#hold(open || !doubts.has(id), `P4: ${kind} ${address} ended but is listed in doubt`);
    }
    const sent = recorded.inDoubt.map((each) =>
      nonIdempotentOf({ ...each, body: String(each.intent.draftId) }),
    );
    for (const product of this.#unproven.keys())
      this.#hold(sent.includes(product), `P3: ${product} is unproven but not in doubt`);
    for (const { productId } of [...recorded.publications, ...recorded.duplicates])
      this.#recordedProducts.add(productId);
    for (const [id, product] of this.products)
      this.#hold(
        this.#recordedProducts.has(id) || sent.includes(product),
        `P2: product ${id} is not recorded`,
      );
    const known = new Set(recorded.attachments.map(nameOf));
    for (const { kind, intent } of recorded.inDoubt) if (kind === "attach") known.add(nameOf(intent));
    for (const [file, { ours }] of this.held)
      this.#hold(
        !ours || known.has(file) || this.drifted.has(file),
        `P2: ${file} is attached but not recorded`,
      );
  }

  /** A plan has exactly the difference of desired and recorded. */
  checkPlan(
    changes: readonly { address: string; action: string }[],
    desired: Desired,
    recorded: Recorded,
  ): void {
    const reported = changes.map(({ address, action }) => `${action} ${address}`).sort();
    const expected = expectedChanges(desired, recorded);
    this.#hold(`${reported}` === `${expected}`, `plan: ${reported} instead of ${expected}`);
  }

  /** In the end the service has only recorded products. */
  checkEnd({ publications }: Recorded): void {
    const published = [...this.products.values()].filter((product) => product.startsWith("draft"));
    this.#hold(published.length === publications.length, "end: a draft was published twice");
  }

  #hold(holds: boolean, violation: string): void {
    if (!holds) this.violations.push(violation);
  }
}
