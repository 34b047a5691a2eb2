import { describe, expect, test } from "vitest";
import type { StateStore } from "../../../src/ledger/open-ledger.ts";
import type { LedgerUnderTest } from "./ledger-suite.ts";
import { attached, attachOperation, lostResponse, sampleRun } from "./ledger-values.ts";

/** Serial, binding to a service, export, group commit and closing of every ledger. */
export function describeLedgerState(name: string, make: () => Promise<LedgerUnderTest>): void {
  describe(`${name}: serial`, () => {
    const steps: readonly [string, number, (ledger: StateStore) => Promise<void>][] = [
      ["binding to a service", 0, (ledger) => ledger.bind({ origin: "https://a.example", workspace: "w" })],
      ["a run that starts", 0, (ledger) => ledger.startRun(sampleRun)],
      ["an operation that begins", 1, (ledger) => ledger.begin(attachOperation("op"))],
      ["one that ends in doubt", 2, (ledger) => ledger.finish("op", { outcome: "unknown", attempts: 1 }, [])],
      [
        "one that is settled",
        3,
        (ledger) => ledger.record([{ type: "settled", operationId: "op", outcome: "done" }]),
      ],
      ["effects of one call", 4, (ledger) => ledger.record([attached(1), attached(2)])],
      ["no effects", 4, (ledger) => ledger.record([])],
      [
        "a refused change",
        4,
        (ledger) => ledger.finish("none", { outcome: "done", attempts: 1 }, []).catch(() => {}),
      ],
      ["a run that ends", 4, (ledger) => ledger.finishRun("run-1", { totals: {}, status: "done" })],
    ];
    test("increases with every change that plans depend on", async () => {
      const { ledger } = await make();
      const observed: [string, number][] = [];
      for (const [step, , change] of steps) {
        await change(ledger);
        observed.push([step, (await ledger.load()).serial]);
      }
      expect(observed).toEqual(steps.map(([step, serial]) => [step, serial]));
    });
  });

  describe(`${name}: service`, () => {
    test("is bound once, to one workspace of one service", async () => {
      const { ledger, reopen } = await make();
      await ledger.bind({ origin: "https://a.example", workspace: "w" });
      await ledger.bind({ origin: "https://a.example", workspace: "w" });
      const refused = (await reopen()).bind({ origin: "https://b.example", workspace: "w" });
      await expect(refused).rejects.toMatchObject({
        code: "ledger-owner-mismatch",
        message: expect.stringContaining("https://a.example"),
        hint: expect.stringContaining("state rebind"),
      });
      const other = ledger.bind({ origin: "https://a.example", workspace: "other" });
      await expect(other).rejects.toMatchObject({ code: "ledger-owner-mismatch" });
      expect(await ledger.load()).toMatchObject({ serviceOrigin: "https://a.example", workspace: "w" });
    });

    test("is checked without binding", async () => {
      const { ledger } = await make();
      const owner = { origin: "https://a.example", workspace: "w" };
      await ledger.assertOwner(owner);
      expect(await ledger.owner()).toEqual({});
      await ledger.bind(owner);
      await ledger.assertOwner(owner);
      const refused = ledger.assertOwner({ ...owner, origin: "https://b.example" });
      await expect(refused).rejects.toMatchObject({ code: "ledger-owner-mismatch" });
    });

    test("changes to a new address of the same workspace only", async () => {
      const { ledger } = await make();
      const owner = { origin: "https://a.example", workspace: "w" };
      await ledger.bind(owner);
      const other = ledger.rebind({ origin: "https://b.example", workspace: "other" });
      await expect(other).rejects.toMatchObject({ code: "ledger-owner-mismatch" });
      expect(await ledger.load()).toMatchObject({ serviceOrigin: "https://a.example" });
      await ledger.rebind({ ...owner, origin: "https://b.example" });
      expect(await ledger.load()).toMatchObject({ serviceOrigin: "https://b.example", workspace: "w" });
    });
  });

  describe(`${name}: export`, () => {
    test("has every record, as JSON that reads back unchanged", async () => {
      const { ledger } = await make();
      await ledger.bind({ origin: "https://a.example", workspace: "w" });
      await ledger.startRun(sampleRun);
      await ledger.begin(attachOperation("op"));
      await ledger.finish("op", { outcome: "unknown", attempts: 1, failure: lostResponse }, []);
      await ledger.record([attached(1), { type: "protection", draftId: 7, protect: true }]);
      const exported = await ledger.export();
      expect(exported).toMatchObject({
        serial: 3,
        service_origin: "https://a.example",
        protected_drafts: [7],
        attachments: [{ address: "drafts/7/product_files/1" }],
        operations: [{ id: "op", outcome: "unknown", failure: lostResponse }],
        runs: [sampleRun],
      });
      expect(JSON.parse(JSON.stringify(exported))).toEqual(exported);
    });
  });

  describe(`${name}: group commit`, () => {
    test("combines simultaneous calls in transactions, and resolves each when other processes can read it", async () => {
      const { ledger, reopen } = await make();
      const other = await reopen();
      await ledger.startRun(sampleRun);
      const ids = Array.from({ length: 60 }, (_, index) => `op-${index}`);
      const missing: string[] = [];
      const begin = async (id: string) => {
        await ledger.begin(attachOperation(id));
        const stored = new Set((await other.operations()).map((operation) => operation.id));
        if (!stored.has(id)) missing.push(id);
      };
      await Promise.all(ids.map(begin));
      expect(missing).toEqual([]);
      const { serial, inDoubt } = await ledger.load();
      expect(inDoubt).toHaveLength(60);
      expect(serial).toBe(1);
    });

    test("commits calls made during a commit with the next one", async () => {
      const { ledger } = await make();
      await ledger.startRun(sampleRun);
      const order: string[] = [];
      const begin = async (id: string) => {
        await ledger.begin(attachOperation(id));
        order.push(id);
      };
      const second: Promise<void>[] = [];
      const first = begin("a").then(() => second.push(begin("c"), begin("d")));
      await Promise.all([first, begin("b")]);
      await Promise.all(second);
      expect(order).toEqual(["a", "b", "c", "d"]);
      expect((await ledger.load()).serial).toBe(2);
    });

    test("rejects only the invalid call of a group", async () => {
      const { ledger } = await make();
      await ledger.startRun(sampleRun);
      await ledger.begin(attachOperation("taken"));
      const calls = ["a", "taken", "b", "c"].map((id) => ledger.begin(attachOperation(id)));
      const ended = await Promise.allSettled(calls);
      expect(ended.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled", "fulfilled"]);
      expect((await ledger.operations()).map(({ id }) => id).sort()).toEqual(["a", "b", "c", "taken"]);
    });

    test("completes earlier calls before closing, and rejects later ones", async () => {
      const { ledger, reopen } = await make();
      await ledger.startRun(sampleRun);
      const calls = Array.from({ length: 1_200 }, (_, index) => ledger.begin(attachOperation(`op-${index}`)));
      const closed = ledger.close();
      for (const late of [ledger.load(), ledger.record([]), ledger.begin(attachOperation("late"))]) {
        await expect(late).rejects.toMatchObject({ code: "ledger-closed" });
      }
      await closed;
      await Promise.all(calls);
      await ledger.close();
      expect((await (await reopen()).operations()).length).toBe(1_200);
    });
  });
}
