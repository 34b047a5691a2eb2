import fc from "fast-check";
import { expect, test } from "vitest";
import type { DriftReport } from "../../../src/report/drift-report.ts";
import { formatDriftMarkdown } from "../../../src/report/drift-report.ts";
import { minMarkdownChars } from "../../../src/report/markdown.ts";
import { hostileText } from "../../support/hostile-plans.ts";
import { render } from "../../support/rendered.ts";
import { runs } from "../../support/runs.ts";

const now = Date.UTC(2026, 0, 5);
const observedAt = "2026-01-05T00:00:00.000Z";

function reportOf(workspace: string, texts: readonly string[]): DriftReport {
  return {
    format_version: 1,
    workspace,
    service_origin: "https://api.example.com",
    refresh: {
      mode: "budget",
      attachments: "none",
      calls: 3,
      max_calls: 500,
      checked: 3,
      unreadable: 1,
      deferred: 9,
      not_checked: 10,
      oldest_unconfirmed: observedAt,
    },
    drift: texts.map((text, at) => ({
      type: "changed",
      address: `drafts/1/product_files/source:${text}${at}`,
      before: { file_id: at, file_format: "fbx" },
      after: { file_id: at, file_format: text },
      attributes: ["file_format"],
      confirmed: null,
      observed_at: observedAt,
      last_call: null,
    })),
  };
}

test("limits any drift report to its size, starts it with its marker, and counts the omitted drift", () => {
  fc.assert(
    fc.property(
      hostileText,
      fc.array(hostileText, { minLength: 40, maxLength: 60 }),
      fc.integer({ min: minMarkdownChars, max: 12_000 }),
      (workspace, texts, maxChars) => {
        const markdown = formatDriftMarkdown(reportOf(workspace, texts), { now, maxChars });
        expect(markdown.length).toBeLessThanOrEqual(maxChars);
        expect(markdown).toMatch(/^<!-- draftsync:drift workspace=\S* -->\n### /);
        const { elements, comments } = render(markdown);
        expect(comments).toHaveLength(1);
        const rows = Math.max(0, elements.filter(({ tag }) => tag === "tr").length - 1);
        const omitted = /^\*\*Left out\*\* .*: ([\d,]+) of the drift/m.exec(markdown)?.[1] ?? "0";
        expect(rows + Number(omitted.replace(",", ""))).toBe(texts.length);
      },
    ),
    runs(50),
  );
});

test("shows all drift that fits", () => {
  const markdown = formatDriftMarkdown(reportOf("studio-a", ["obj", "max"]), { now, maxChars: 65_000 });
  expect(markdown).not.toContain("Left out");
  expect(markdown).toContain("### Drift: 2 in `studio-a`\n\n| | address | what | who |\n");
});

test("uses the available size, and counts the omitted drift", () => {
  const many = Array.from({ length: 2_000 }, () => "obj");
  const markdown = formatDriftMarkdown(reportOf("studio-a", many), { now, maxChars: 65_000 });
  expect(markdown.length).toBeLessThanOrEqual(65_000);
  expect(markdown.length).toBeGreaterThan(63_000);
  expect(markdown).toContain("### Drift: 2,000 in `studio-a`");
  expect(markdown).toMatch(/\*\*Left out\*\* to stay within 65,000 characters: 1,\d+ of the drift/);
});
