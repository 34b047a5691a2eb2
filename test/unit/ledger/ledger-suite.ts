import { describe, expect, test } from "vitest";
import type { StateStore } from "../../../src/ledger/open-ledger.ts";
import type { LedgerEffect } from "../../../src/model/ports.ts";
import { attached, attachment } from "./ledger-values.ts";

/** A new, empty ledger, and the same one opened again. The maker closes both. */
export interface LedgerUnderTest {
  readonly ledger: StateStore;
  reopen(): Promise<StateStore>;
}

const at = 1_700_000_000_456;

/** Records and effects in every ledger. */
export function describeLedger(name: string, make: () => Promise<LedgerUnderTest>): void {
  describe(`${name}: records`, () => {
    test("creates an empty ledger with a unique lineage", async () => {
      const [one, other] = [await make(), await make()];
      const recorded = await one.ledger.load();
      expect(recorded).toEqual({
        lineage: expect.stringMatching(/^[0-9a-f-]{36}$/),
        serial: 0,
        isConfirmed: false,
        titles: new Map(),
        protectedDrafts: new Set(),
        maybePublished: new Map(),
        attachments: [],
        keptValues: new Map(),
        publications: [],
        duplicates: [],
        uploads: [],
        storedObjects: [],
        refreshes: [],
        versions: new Map(),
        inDoubt: [],
      });
      expect((await other.ledger.load()).lineage).not.toBe(recorded.lineage);
      expect((await (await one.reopen()).load()).lineage).toBe(recorded.lineage);
    });

    test("keeps and exports a confirmation without changing the serial", async () => {
      const { ledger, reopen } = await make();
      await ledger.confirm(at - 1);
      expect((await ledger.load()).isConfirmed).toBe(false);
      await ledger.bind({ origin: "https://api.example.com", workspace: "w" }, at);
      await ledger.confirm(at + 1);
      expect(await (await reopen()).load()).toMatchObject({ isConfirmed: true, serial: 0 });
      expect(await ledger.export()).toMatchObject({ confirmed_at: at });
    });

    test("returns every record after the ledger is reopened", async () => {
      const { ledger, reopen } = await make();
      const effects: LedgerEffect[] = [
        attached(2 ** 53 - 1, {
          address: "drafts/7/product_files/source:modèles/дракон 😀.blend",
          attributes: { file_format: "blender", renderer: "", is_native: false },
          sha256: "ab".repeat(32),
          provenance: { by: "probe", at },
        }),
        attached(2, {
          kind: "promotional_files",
          address: "drafts/7/promotional_files/2",
          attributes: { description: "line\nnext \u0000 \ud800 end" },
        }),
        { type: "published", draftId: 7, revision: 1, productId: 70, provenance: { by: "post", at } },
        { type: "published", draftId: 7, revision: 2, productId: 71, provenance: { by: "operator", at } },
        duplicated("by-id", { by: "product_id", productId: 71 }),
        duplicated("by-draft", { by: "draft", draftId: 7 }),
        { type: "titled", draftId: 7, title: "Dragon" },
        { type: "titled", draftId: 7, title: "Drache 🐉" },
        { type: "protection", draftId: 8, protect: true },
        { type: "maybe_published", draftId: 9, at: 5 },
        { type: "maybe_published", draftId: 9, at: 6 },
        {
          type: "upload_registered",
          uploadId: "u1",
          uploadKey: "in/a",
          source: "a.obj",
          sha256: "cd",
          size: 9,
          at,
        },
        { type: "upload_registered", uploadId: "u2", uploadKey: "in/b", at },
        { type: "object_stored", uploadKey: "in/c", source: "c.obj", sha256: "ef", size: 2 ** 40, at },
        { type: "upload_ended", uploadId: "u2", status: "success", fileId: 99 },
        { type: "product_confirmed", productId: 71, provenance: { by: "get", at } },
        { type: "refreshed", resource: "drafts/7/promotional_files/2", at },
        { type: "refreshed", resource: "products/70", at: 1 },
        { type: "refreshed", resource: "products/70", at: 2 },
      ];
      await ledger.record(effects);
      const { lineage, ...recorded } = await (await reopen()).load();
      expect(lineage).toBe((await ledger.load()).lineage);
      expect(recorded).toEqual({
        serial: 1,
        isConfirmed: false,
        titles: new Map([[7, "Drache 🐉"]]),
        protectedDrafts: new Set([8]),
        maybePublished: new Map([[9, 5]]),
        attachments: [
          attachment(2 ** 53 - 1, {
            address: "drafts/7/product_files/source:modèles/дракон 😀.blend",
            attributes: { file_format: "blender", renderer: "", is_native: false },
            sha256: "ab".repeat(32),
            provenance: { by: "probe", at },
          }),
          attachment(2, {
            kind: "promotional_files",
            address: "drafts/7/promotional_files/2",
            attributes: { description: "line\nnext \u0000 \ud800 end" },
          }),
        ],
        keptValues: new Map(),
        publications: [
          { draftId: 7, revision: 1, productId: 70, provenance: { by: "post", at } },
          { draftId: 7, revision: 2, productId: 71, provenance: { by: "get", at } },
        ],
        duplicates: [
          recordedDuplicate("by-draft", { by: "draft", draftId: 7 }),
          recordedDuplicate("by-id", { by: "product_id", productId: 71 }),
        ],
        uploads: [
          {
            uploadId: "u1",
            uploadKey: "in/a",
            source: "a.obj",
            sha256: "cd",
            size: 9,
            status: "pending",
            at,
          },
          { uploadId: "u2", uploadKey: "in/b", status: "success", fileId: 99, at },
        ],
        storedObjects: [{ uploadKey: "in/c", source: "c.obj", sha256: "ef", size: 2 ** 40, at }],
        refreshes: [
          { resource: "drafts/7/promotional_files/2", at },
          { resource: "products/70", at: 2 },
        ],
        versions: expect.any(Map),
        inDoubt: [],
      });
    });

    test("sorts attachments by the code units of their addresses", async () => {
      const { ledger } = await make();
      const names = ["b", "\u{1f600}", "\uff00", "B", "é", "a/10", "a/9"];
      await ledger.record(
        names.map((each, index) => attached(index + 1, { address: `drafts/7/product_files/source:${each}` })),
      );
      const addresses = (await ledger.load()).attachments.map(({ address }) => address.split("source:")[1]);
      expect(addresses).toEqual(["B", "a/10", "a/9", "b", "é", "\u{1f600}", "\uff00"]);
    });

    test("returns more rows than one page of the database holds", async () => {
      const { ledger } = await make();
      const ids = Array.from({ length: 2_500 }, (_, index) => index + 1);
      await ledger.record(ids.map((id) => attached(id)));
      await ledger.record([
        { type: "detached", target: { draftId: 7, kind: "product_files", fileId: 1_000 } },
      ]);
      const loaded = (await ledger.load()).attachments.map(({ fileId }) => fileId).sort((a, b) => a - b);
      expect(loaded).toEqual(ids.filter((id) => id !== 1_000));
    });
  });

  describe(`${name}: effects`, () => {
    const source = "drafts/7/product_files/source:a.blend";

    test("move a replaced record to its numeric address", async () => {
      const { ledger } = await make();
      await ledger.record([attached(1, { address: source, sha256: "one" })]);
      await ledger.record([
        { type: "attached", attachment: attachment(2, { address: source }), replaces: 1 },
      ]);
      expect((await ledger.load()).attachments).toEqual([
        attachment(1, { sha256: "one", replacedBy: 2, formerAddress: source }),
        attachment(2, { address: source }),
      ]);
      await ledger.record([{ type: "readdressed", target: attachment(1), address: attachment(1).address }]);
      expect((await ledger.load()).attachments[0]).toEqual(attachment(1, { sha256: "one" }));
    });

    test("keep a record marked as replaced only while its place is taken", async () => {
      const { ledger } = await make();
      await ledger.record([attached(1, { address: source })]);
      for (const fileId of [2, 3]) {
        const replacing = attachment(fileId, { address: source });
        await ledger.record([{ type: "attached", attachment: replacing, replaces: fileId - 1 }]);
      }
      const marks = async () =>
        (await ledger.load()).attachments.map(({ fileId, replacedBy }) => [fileId, replacedBy]);
      expect(await marks()).toEqual([
        [1, 3],
        [2, 3],
        [3, undefined],
      ]);
      await ledger.record([{ type: "detached", target: attachment(2) }]);
      expect(await marks()).toEqual([
        [1, 3],
        [3, undefined],
      ]);
      await ledger.record([{ type: "detached", target: attachment(3) }]);
      expect(await marks()).toEqual([[1, undefined]]);
    });

    test("leave a replaced record that another entry has by now", async () => {
      const { ledger } = await make();
      const elsewhere = "drafts/7/product_files/upload_key:in/a";
      await ledger.record([attached(1, { address: elsewhere })]);
      await ledger.record([
        { type: "attached", attachment: attachment(2, { address: source }), replaces: 1 },
      ]);
      expect((await ledger.load()).attachments).toEqual([
        attachment(2, { address: source }),
        attachment(1, { address: elsewhere }),
      ]);
    });

    test("keep a record that gives its address to a file that does not replace it", async () => {
      const { ledger } = await make();
      await ledger.record([attached(1, { address: source })]);
      const created = attachment(2, { address: source });
      await ledger.record([{ type: "attached", attachment: created }]);
      expect((await ledger.load()).attachments).toEqual([attachment(1, { formerAddress: source }), created]);
    });

    test("swap the addresses of two records", async () => {
      const { ledger } = await make();
      const other = "drafts/7/product_files/source:b.blend";
      await ledger.record([attached(1, { address: source }), attached(2, { address: other })]);
      await ledger.record([{ type: "rerecorded", attachment: attachment(1, { address: other }) }]);
      expect((await ledger.load()).attachments).toEqual([
        attachment(2, { formerAddress: other }),
        attachment(1, { address: other }),
      ]);
      await ledger.record([{ type: "rerecorded", attachment: attachment(2, { address: source }) }]);
      expect((await ledger.load()).attachments).toEqual([
        attachment(2, { address: source }),
        attachment(1, { address: other }),
      ]);
    });

    test.each(["attached", "rerecorded"] as const)("replace the whole record by %s", async (type) => {
      const { ledger } = await make();
      await ledger.record([
        attached(1, { attributes: { file_format: "fbx", renderer: "arnold" }, sha256: "s" }),
      ]);
      const changed = attachment(1, { attributes: { renderer: "cycles" }, provenance: { by: "patch", at } });
      await ledger.record([{ type, attachment: changed }]);
      expect((await ledger.load()).attachments).toEqual([changed]);
    });

    test("set and remove protection any number of times", async () => {
      const { ledger } = await make();
      const protect = (wanted: boolean): LedgerEffect => ({
        type: "protection",
        draftId: 7,
        protect: wanted,
      });
      await ledger.record([protect(true), protect(true)]);
      expect((await ledger.load()).protectedDrafts).toEqual(new Set([7]));
      await ledger.record([protect(false), protect(false)]);
      expect((await ledger.load()).protectedDrafts).toEqual(new Set());
    });

    test("note that a draft may be published when a copy of a product of its is recorded, and not the product", async () => {
      const { ledger } = await make();
      const from = { by: "draft", draftId: 7 } as const;
      const copy = recordedDuplicate("known", from);
      const { sourceProductId: productId, provenance } = copy;
      const published = { type: "published", draftId: 7, revision: 1, productId, provenance } as const;
      await ledger.record([published, duplicated("known", from)]);
      expect((await ledger.load()).maybePublished.size).toBe(0);
      await ledger.record([{ ...duplicated("other", from), sourceProductId: productId + 1 }]);
      expect((await ledger.load()).maybePublished).toEqual(new Map([[7, provenance.at]]));
    });

    test("remove a duplicate, which can then be recorded again", async () => {
      const { ledger } = await make();
      const from = { by: "draft", draftId: 7 } as const;
      await ledger.record([duplicated("d", from), { type: "duplicate_forgotten", name: "d" }]);
      expect((await ledger.load()).duplicates).toEqual([]);
      await ledger.record([duplicated("d", from)]);
      expect((await ledger.load()).duplicates).toEqual([recordedDuplicate("d", from)]);
    });

    const nothing: readonly LedgerEffect[] = [
      { type: "detached", target: { draftId: 7, kind: "product_files", fileId: 5 } },
      { type: "duplicate_forgotten", name: "d" },
      { type: "upload_ended", uploadId: "u", status: "failed" },
    ];
    test.each(nothing)("ignore $type of a missing record", async (effect) => {
      const { ledger } = await make();
      await ledger.record([effect]);
      expect(await ledger.load()).toMatchObject({ attachments: [], duplicates: [], uploads: [] });
    });

    test("record an upload that draftsync did not register, and keep the key of one that it did", async () => {
      const { ledger } = await make();
      await ledger.record([
        {
          type: "upload_registered",
          uploadId: "u1",
          uploadKey: "in/a",
          source: "a",
          sha256: "ab",
          size: 1,
          at: 1,
        },
        { type: "upload_found", uploadId: "u1", status: "success", fileId: 5, at: 2 },
        { type: "upload_found", uploadId: "u2", status: "success", fileId: 6, at: 3 },
      ]);
      expect((await ledger.load()).uploads).toEqual([
        {
          uploadId: "u1",
          uploadKey: "in/a",
          source: "a",
          sha256: "ab",
          size: 1,
          status: "success",
          fileId: 5,
          at: 1,
        },
        { uploadId: "u2", status: "success", fileId: 6, at: 3 },
      ]);
    });

    const refused: readonly [string, string, LedgerEffect[]][] = [
      ["a missing record", "ledger-conflict", [{ type: "rerecorded", attachment: attachment(9) }]],
      ["a repeated revision", "ledger-conflict", [published(1), published(1)]],
      [
        "a repeated duplicate",
        "ledger-conflict",
        [duplicated("d", { by: "draft", draftId: 1 }), duplicated("d", { by: "draft", draftId: 1 })],
      ],
      [
        "an operation that is not in doubt",
        "ledger-conflict",
        [{ type: "settled", operationId: "none", outcome: "done" }],
      ],
      [
        "another file's numeric address",
        "ledger-invalid-value",
        [attached(1, { address: "drafts/7/product_files/2" })],
      ],
      [
        "another draft's address",
        "ledger-invalid-value",
        [attached(1, { address: "drafts/8/product_files/1" })],
      ],
      ["draft 0", "ledger-invalid-value", [attached(1, { draftId: 0, address: "drafts/0/product_files/1" })]],
      ["a fractional id", "ledger-invalid-value", [{ type: "protection", draftId: 1.5, protect: true }]],
      ["a name with NUL", "ledger-invalid-value", [duplicated("a\0b", { by: "draft", draftId: 1 })]],
      [
        "a name with half a surrogate pair",
        "ledger-invalid-value",
        [duplicated("a\ud83d", { by: "draft", draftId: 1 })],
      ],
    ];
    test.each(refused)("reject %s (%s) with the rest of their batch", async (_, code, effects) => {
      const { ledger } = await make();
      await expect(ledger.record([attached(5), ...effects])).rejects.toMatchObject({
        name: "LedgerError",
        code,
      });
      expect(await ledger.load()).toMatchObject({
        serial: 0,
        attachments: [],
        publications: [],
        duplicates: [],
      });
    });
  });
}

/** The effect of publishing draft 7. */
export function published(revision: number): LedgerEffect {
  return { type: "published", draftId: 7, revision, productId: 70, provenance: { by: "post", at } };
}

type Duplicated = Extract<LedgerEffect, { type: "duplicated" }>;

function duplicated(name: string, from: Duplicated["from"]): Duplicated {
  return { type: "duplicated", ...recordedDuplicate(name, from) };
}

function recordedDuplicate(name: string, from: Duplicated["from"]) {
  return { name, from, sourceProductId: 71, productId: 72, provenance: { by: "post", at } } as const;
}
