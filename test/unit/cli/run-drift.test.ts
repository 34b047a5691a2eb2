import { expect, test } from "vitest";
import { assertCompared } from "../../../src/cli/runtime/run-drift.ts";
import { makeDriftReport } from "../../../src/report/drift-report.ts";
import { recordedFile, recordedWith, refreshSummary } from "../../support/planning.ts";

test.each([
  { name: "only an upload was read", not_checked: 2, throws: true },
  { name: "one of two files was read", not_checked: 1, throws: false },
])("drift that finds nothing is an error when $name: $throws", ({ not_checked, throws }) => {
  const refresh = refreshSummary({ checked: 1, not_checked });
  const head = { workspace: "w", service_origin: "http://localhost", refresh };
  const report = makeDriftReport(head, [], { operations: [], runs: [] });
  const recorded = recordedWith({ attachments: [recordedFile(1, 1), recordedFile(1, 2)] });
  const check = () => assertCompared({ report, recorded, unreadable: [] });
  if (throws) expect(check).toThrow("drift checked nothing: 2 resources recorded");
  else expect(check).not.toThrow();
});
