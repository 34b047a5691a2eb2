import { expect, test } from "vitest";
import { newOperationId } from "../../../src/apply/context.ts";

test("ids of operations are UUIDs of version 7, none of them twice, and begin with the time", () => {
  const before = Date.now();
  const ids = Array.from({ length: 1000 }, newOperationId);
  expect(new Set(ids).size).toBe(1000);
  for (const id of ids) {
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    const at = Number.parseInt(id.slice(0, 13).replace("-", ""), 16);
    expect(at).toBeGreaterThanOrEqual(before);
    expect(at).toBeLessThanOrEqual(Date.now());
  }
});
