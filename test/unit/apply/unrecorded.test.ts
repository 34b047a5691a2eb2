import { expect, test } from "vitest";
import { OutcomesNotRecordedError } from "../../../src/apply/operation.ts";
import { DraftsyncError } from "../../../src/model/errors.ts";
import { formatError } from "../../../src/report/diagnostic-text.ts";
import { makePalette } from "../../../src/report/palette.ts";

const lost = (draft: number, kind: "attach" | "publish") => ({
  operation: {
    id: `id-${draft}`,
    runId: "r",
    address: kind === "publish" ? `drafts/${draft}/product` : `drafts/${draft}/product_files/1`,
    kind,
    method: "POST",
    path: kind === "publish" ? "/api/products" : `/api/drafts/${draft}/product_files`,
    intent: { draftId: draft },
  },
  result: { outcome: "done", attempts: 1 } as const,
  effects: [],
  path: "/w/.draftsync/state.db.recovery.ndjson",
  ...(kind === "publish" ? { productId: 900 + draft } : {}),
});

test("lists a handful of many outcomes, what cannot be undone first, and where all of them are", () => {
  const outcomes = Array.from({ length: 22 }, (_none, at) => lost(at + 1, at === 20 ? "publish" : "attach"));
  const cause = new DraftsyncError("The disk of the ledger is full.", { code: "ledger-disk-full" });
  const text = formatError(new OutcomesNotRecordedError(outcomes, cause), makePalette(false));
  expect(
    text.split("\n").slice(0, -1).join("\n"),
  ).toBe(`error: The disk of the ledger is full. 22 outcomes could not be recorded.  [outcome-not-recorded]
  POST /api/products for drafts/21/product: done, product 921
  POST /api/drafts/1/product_files for drafts/1/product_files/1: done
  POST /api/drafts/2/product_files for drafts/2/product_files/1: done
  POST /api/drafts/3/product_files for drafts/3/product_files/1: done
  POST /api/drafts/4/product_files for drafts/4/product_files/1: done
  and 17 more
  saved in /w/.draftsync/state.db.recovery.ndjson`);
  expect(Math.max(...text.split("\n").map((line) => line.length))).toBeLessThanOrEqual(130);
});
