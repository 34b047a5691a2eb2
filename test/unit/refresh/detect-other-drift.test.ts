import { describe, expect, test } from "vitest";
import type { Observation, ReadResult } from "../../../src/model/observed.ts";
import { detectDrift } from "../../../src/refresh/detect-drift.ts";
import { desiredWith, recordedWith } from "../../support/planning.ts";
import { duplicateAt, failure, publicationAt, summarize, uploadOf } from "./support.ts";

const settleDelayMs = 1000;
const at = 5000;
const unreadable = { type: "unreadable", failure } as const;
const absent = { type: "absent" } as const;

describe("a product", () => {
  const detect = (read: ReadResult<null>) =>
    detectDrift({
      observations: [{ type: "product", address: "drafts/1/product", productId: 9, at, read }],
      desired: desiredWith(),
      recorded: recordedWith({
        publications: [publicationAt(1, 9, 10)],
        duplicates: [duplicateAt("copy", 9, 20)],
      }),
      settleDelayMs,
    });

  test("is confirmed at each of its records by one effect when it exists", () => {
    const confirmed = { type: "product_confirmed", productId: 9, provenance: { by: "get", at } };
    expect(detect({ type: "present", value: null })).toEqual({
      drift: [],
      confirmations: [confirmed],
      unreadable: [],
    });
  });

  test("is reported gone once, and stays recorded, when it does not exist", () => {
    const found = detect(absent);
    expect(found.drift).toMatchObject([{ type: "product_gone", before: { product_id: 9 } }]);
    expect(found.confirmations).toEqual([{ type: "refreshed", resource: "products/9", at }]);
  });

  test("is neither confirmed nor gone when it is unreadable", () => {
    const found = detect(unreadable);
    expect(summarize(found)).toEqual(["refreshed", "unreadable"]);
    expect(found.unreadable).toEqual([{ address: "drafts/1/product", failure }]);
  });
});

describe("uploads", () => {
  const detect = (read: Extract<Observation, { type: "uploads" }>["read"]) =>
    detectDrift({
      observations: [{ type: "uploads", uploadIds: ["u", "v", "w"], at, read }],
      desired: desiredWith(),
      recorded: recordedWith({ uploads: [uploadOf("u"), uploadOf("v"), uploadOf("w")] }),
      settleDelayMs,
    });

  test("are recorded when they have ended, and not when they are pending, missing or not requested", () => {
    const found = detect({
      type: "present",
      value: {
        uploads: [
          { uploadId: "u", status: "success", rawStatus: "success", fileId: 5 },
          { uploadId: "v", status: "failed", rawStatus: "broken" },
          { uploadId: "x", status: "success", rawStatus: "success", fileId: 6 },
        ],
        missing: [],
      },
    });
    expect(found).toEqual({
      drift: [],
      confirmations: [
        { type: "upload_ended", uploadId: "u", status: "success", fileId: 5 },
        { type: "upload_ended", uploadId: "v", status: "failed" },
      ],
      unreadable: [],
    });
    const missing = [
      { uploadId: "v", failure },
      { uploadId: "w", failure: { ...failure, code: "call-budget-exhausted" } },
    ];
    expect(detect({ type: "present", value: { uploads: [], missing } }).unreadable).toEqual([
      { address: "uploads/v", failure },
    ]);
    const pending = { uploadId: "w", status: "pending", rawStatus: "queued" } as const;
    expect(detect({ type: "present", value: { uploads: [pending], missing: [] } }).confirmations).toEqual([]);
  });

  test("have failed when the service does not know them any more, and draftsync registered them", () => {
    const gone = { ...failure, code: "gone" };
    const missing = ["u", "x"].map((uploadId) => ({ uploadId, failure: gone }));
    expect(detect({ type: "present", value: { uploads: [], missing } })).toEqual({
      drift: [],
      confirmations: [{ type: "upload_ended", uploadId: "u", status: "failed" }],
      unreadable: [{ address: "uploads/x", failure: gone }],
    });
  });

  test("are unreadable when the response names another object than the recorded one", () => {
    const upload = { uploadId: "u", status: "success", rawStatus: "success", fileId: 5 } as const;
    const uploads = [{ ...upload, uploadKey: "in/v" }];
    expect(detect({ type: "present", value: { uploads, missing: [] } })).toMatchObject({
      confirmations: [],
      unreadable: [{ address: "uploads/u", failure: { code: "response-mismatch" } }],
    });
  });

  test("are unreadable when the response names the file of different content", () => {
    const ended = (uploadId: string) =>
      ({ uploadId, status: "success", rawStatus: "success", fileId: 5 }) as const;
    const found = detectDrift({
      observations: [
        {
          type: "uploads",
          uploadIds: ["u", "v"],
          at,
          read: { type: "present", value: { uploads: [ended("u"), ended("v")], missing: [] } },
        },
      ],
      desired: desiredWith(),
      recorded: recordedWith({
        uploads: [
          { ...uploadOf("u"), sha256: "first" },
          { ...uploadOf("v"), sha256: "second" },
        ],
      }),
      settleDelayMs,
    });
    expect(found).toMatchObject({
      confirmations: [{ type: "upload_ended", uploadId: "u", fileId: 5 }],
      unreadable: [{ address: "uploads/v", failure: { code: "response-mismatch" } }],
    });
  });

  test("are each unreadable when the read fails", () => {
    expect(detect(unreadable).unreadable.map((item) => item.address)).toEqual([
      "uploads/u",
      "uploads/v",
      "uploads/w",
    ]);
  });
});
