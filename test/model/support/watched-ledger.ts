import type { StateStore } from "../../../src/ledger/open-ledger.ts";
import type { Ledger } from "../../../src/model/ports.ts";
import type { Model } from "./model.ts";

/** The ledger with `step`, which may kill the process, before and after every change of the journal. */
export function watchedLedger(store: StateStore, model: Model, step: () => Promise<void>): Ledger {
  const around = async <T>(work: () => Promise<T>, done: () => void = () => {}): Promise<T> => {
    await step();
    const result = await work();
    done();
    await step();
    return result;
  };
  return {
    load: () => store.load(),
    turns: () => store.turns(),
    lostWrites: (since) => store.lostWrites(since),
    now: () => store.now(),
    isMaybePublished: (draftId) => store.isMaybePublished(draftId),
    redate: (operationIds) => store.redate(operationIds),
    assertOwner: (owner) => store.assertOwner(owner),
    bind: (owner) => store.bind(owner),
    startRun: (run) => store.startRun(run),
    finishRun: (id, result) => store.finishRun(id, result),
    begin: (operation) =>
      around(
        () => store.begin(operation),
        () => model.begun(operation),
      ),
    resend: (id) =>
      around(
        () => store.resend(id),
        () => model.resent(id),
      ),
    finish: (id, result, effects) =>
      around(
        () => store.finish(id, result, effects),
        () => model.finished(id, result),
      ),
    record: (...given) => around(() => store.record(...given)),
    close: () => store.close(),
  };
}
