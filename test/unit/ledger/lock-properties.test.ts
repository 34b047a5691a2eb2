import fc from "fast-check";
import { expect, test } from "vitest";
import { openLedger } from "../../../src/ledger/open-ledger.ts";
import type { Lease } from "../../../src/model/lock.ts";
import { systemClock } from "../../../src/model/ports.ts";
import { runs } from "../../support/runs.ts";
import { lockRequest, onMachine, passing } from "./ledger-lock-suite.ts";
import { attached } from "./ledger-values.ts";
import { databases, executeIn } from "./samples.ts";

const leaseMs = 60_000;
const writers = [0, 1, 2] as const;
type Writer = (typeof writers)[number];

type Step =
  | { readonly do: "acquire" | "release" | "commit" | "renew"; readonly by: Writer }
  | { readonly do: "pass"; readonly ms: number }
  | { readonly do: "force" };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constantFrom("acquire", "release", "commit", "commit", "renew"),
    by: fc.constantFrom(...writers),
  }),
  fc.record({ do: fc.constant("pass"), ms: fc.constantFrom(1, 20_001, 35_001, 60_001) }),
  fc.record({ do: fc.constant("force") }),
);

/** A model of the lock. A writer that never acquired it, or released it, writes without a lease. */
class LockModel {
  token = 0;
  held: { token: number; leftMs: number } | undefined;
  readonly leases = new Map<Writer, number>();

  acquire(by: Writer): boolean {
    const isOwn = this.held !== undefined && this.held.token === this.leases.get(by);
    if (isOwn || (this.held !== undefined && this.held.leftMs > 0)) return false;
    this.token += 1;
    this.held = { token: this.token, leftMs: leaseMs };
    this.leases.set(by, this.token);
    return true;
  }

  /** Whether a commit or heartbeat of this writer succeeds, which renews its lease. */
  commit(by: Writer): boolean {
    const token = this.leases.get(by);
    if (token === undefined) return true;
    if (this.held?.token !== token) return false;
    this.held.leftMs = leaseMs;
    return true;
  }

  release(by: Writer): void {
    if (this.held !== undefined && this.held.token === this.leases.get(by)) this.held = undefined;
    this.leases.delete(by);
  }
}

/** Whether the work succeeds; a failure must be one of the lock. */
async function passes(work: Promise<unknown>): Promise<boolean> {
  return work.then(
    () => true,
    (error: unknown) => {
      expect(error).toMatchObject({ code: expect.stringMatching(/^lock-(held|lost)$/) });
      return false;
    },
  );
}

test.each(databases)(
  "$name: lets only the holder of the newest token commit, after any sequence of events",
  async ({ locate }) => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
        const location = locate();
        const stores = await Promise.all(
          writers.map((at) =>
            openLedger({ location, clock: systemClock, processes: onMachine(`machine ${at}`) }),
          ),
        );
        const leases = new Map<Writer, Lease>();
        const model = new LockModel();
        let committed = 0;
        const store = (by: Writer) => stores[by] ?? expect.fail("there is a store for each writer");
        const execute = async (one: Step): Promise<void> => {
          switch (one.do) {
            case "pass":
              await executeIn(location, passing.all(one.ms));
              if (model.held !== undefined) model.held.leftMs -= one.ms;
              return;
            case "force": {
              const held = await store(0).heldLock();
              expect(await store(0).releaseLock(held?.id ?? "none")).toBe(model.held !== undefined);
              model.held = undefined;
              return;
            }
            case "acquire": {
              const asked = store(one.by).acquireLock(lockRequest(`w${one.by}`, { leaseMs }));
              expect(await passes(asked)).toBe(model.acquire(one.by));
              const lease = await asked.catch(() => undefined);
              if (lease !== undefined) leases.set(one.by, lease);
              return;
            }
            case "release":
              await leases.get(one.by)?.release();
              model.release(one.by);
              return;
            case "commit": {
              const done = await passes(store(one.by).record([attached(committed + 1)]));
              expect(done).toBe(model.commit(one.by));
              if (done) committed += 1;
              return;
            }
            case "renew":
              if (!model.leases.has(one.by)) return;
              expect(await passes(leases.get(one.by)?.renew() ?? Promise.resolve())).toBe(
                model.commit(one.by),
              );
          }
        };
        try {
          for (const one of steps) {
            await execute(one);
            const held = await store(2).heldLock();
            expect(held?.token).toBe(model.held?.token);
            // Writer 2 sees its own lock as running, never as expired.
            const isOwn = model.leases.get(2) === held?.token;
            if (model.held !== undefined && !isOwn) {
              expect(held?.state === "expired").toBe(model.held.leftMs <= 0);
            }
          }
          expect((await store(1).load()).attachments).toHaveLength(committed);
        } finally {
          for (const each of stores) await each.close();
        }
      }),
      runs(8),
    );
  },
  120_000,
);
