import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { minMarkdownChars } from "../../../src/report/markdown.ts";
import { formatPlanMarkdown } from "../../../src/report/plan-markdown.ts";
import { viewPlan } from "../../../src/report/plan-view.ts";
import { commentMarker } from "../../../src/report/sanitize-markdown.ts";
import { hostileDiagnostic, hostilePlan, hostileText } from "../../support/hostile-plans.ts";
import {
  desiredWith,
  draftWith,
  planOf,
  recordedFile,
  recordedWith,
  wanted,
  wantedFile,
} from "../../support/planning.ts";
import { render } from "../../support/rendered.ts";
import { runs } from "../../support/runs.ts";

const now = Date.UTC(2026, 0, 5);
const wide = 10_000_000;
const allowed = new Set(
  "h3 h4 p ul li code pre blockquote br i b sub strong details summary ins del".split(" "),
);

function show(plan: ReturnType<typeof planOf>, maxChars = wide): string {
  return formatPlanMarkdown(viewPlan(plan, now), { maxChars });
}

function manyDrafts(count: number, files: number) {
  return Array.from({ length: count }, (_none, at) => {
    const numbers = Array.from({ length: files }, (_file, file) => file + 1);
    return draftWith(at + 1, {
      attachments: numbers.map((file) => wantedFile(at + 1, file, { renderer: "vray" })),
    });
  });
}

/** Asserts what holds for every comment. */
function expectInert(markdown: string): void {
  const { elements, comments, livelyText } = render(markdown);
  expect(elements.filter(({ tag, attributes }) => !allowed.has(tag) || attributes.length > 0)).toEqual([]);
  expect(livelyText).not.toMatch(/[@#!&%~$<>[\]{}\\|]|:\/\/|www|GH-|evil|:tada/);
  expect(comments).toEqual([expect.stringMatching(/^ draftsync:plan workspace=\S* $/)]);
  const outer = elements.filter(({ tag }) => ["h3", "h4", "details", "sub"].includes(tag));
  expect(outer.flatMap(({ tag, path }) => (tag === "sub" ? path.slice(1) : path))).toEqual([]);
  expect(markdown.match(/<details>/g)?.length).toBe(markdown.match(/^<\/details>$/gm)?.length);
}

describe("a plan as Markdown", () => {
  test("renders only its own elements, for any texts", () => {
    fc.assert(
      fc.property(hostilePlan(6), fc.array(hostileDiagnostic, { maxLength: 2 }), (plan, refusals) => {
        expectInert(formatPlanMarkdown(viewPlan(plan, now), { maxChars: wide, refusals }));
      }),
      runs(60),
    );
  });

  test("never exceeds its size, starts with marker and headline, and reports omitted parts", () => {
    const size = fc.integer({ min: minMarkdownChars, max: 20_000 });
    fc.assert(
      fc.property(
        hostilePlan(25),
        fc.array(hostileDiagnostic, { maxLength: 5 }),
        size,
        (plan, refusals, maxChars) => {
          const view = viewPlan(plan, now);
          const whole = formatPlanMarkdown(view, { maxChars: wide, refusals });
          const markdown = formatPlanMarkdown(view, { maxChars, refusals });
          expect(markdown.length).toBeLessThanOrEqual(maxChars);
          expect(markdown.split("\n", 2)).toEqual(whole.split("\n", 2));
          expect(markdown.endsWith(whole.slice(-90))).toBe(true);
          expectInert(markdown);
          if (markdown !== whole) expect(markdown).toContain("**Left out** to stay within");
          expect(whole).not.toContain("**Left out**");
        },
      ),
      runs(60),
    );
  });

  test("keeps irreversible changes and a line per draft when details do not fit", () => {
    const drafts = manyDrafts(40, 20).map((draft, at) =>
      at === 30 ? { ...draft, publish: { revision: 1, position: 1 } } : draft,
    );
    const markdown = show(planOf(desiredWith({ drafts }), recordedWith()), 8_000);
    expect(markdown).toContain("- `!` `drafts/31/product` publishes a product from draft 31");
    expect(markdown).toContain(
      "<details><summary><code>drafts/31</code>: 20 to create, 1 to publish <code>manifests/a.yaml:0</code> · ",
    );
    expect(markdown).toContain("Without details:\n\n- `drafts/");
    for (const { draftId } of drafts)
      expect(markdown).toMatch(new RegExp(`[>\`]drafts/${draftId}(</code>|\`): 20 to create`));
    expect(markdown).toMatch(/\*\*Left out\*\* to stay within 8,000 characters: \d+ of the changes/);
  });

  test.each([minMarkdownChars, 8_000, 65_000])("uses most of %i available characters", (maxChars) => {
    const drafts = manyDrafts(120, 25);
    const markdown = show(planOf(desiredWith({ drafts }), recordedWith()), maxChars);
    expect(markdown).toContain("### Plan for `studio`: 3,000 to create\n");
    expect(markdown).toContain("**Left out**");
    expect(markdown.length).toBeGreaterThan(maxChars - Math.max(1_500, 0.08 * maxChars));
    expect(markdown.length).toBeLessThanOrEqual(maxChars);
  });

  test("omits unchanged context before changes, and long texts before short ones", () => {
    const text = (word: string) =>
      `${"An unchanged line.\n".repeat(40)}The ${word} one.\n${"And more.\n".repeat(40)}`;
    const files = Array.from({ length: 60 }, (_none, at) => at + 1);
    const kind = "promotional_files" as const;
    const plan = planOf(
      desiredWith({
        drafts: [
          draftWith(1, {
            attachments: files.map((fileId) =>
              wanted(1, kind, { by: "file_id", fileId }, { description: text("right") }),
            ),
          }),
        ],
      }),
      recordedWith({
        attachments: files.map((fileId) => ({
          ...recordedFile(1, fileId, { attributes: { description: text("left") } }),
          kind,
          address: `drafts/1/promotional_files/${fileId}`,
        })),
      }),
    );
    const whole = show(plan);
    expect(whole.match(/<ins>right<\/ins>/g)).toHaveLength(60);
    expect(whole.match(/An unchanged line\./g)).toHaveLength(120);
    const less = show(plan, Math.round(whole.length * 0.8));
    expect(less.match(/<ins>right<\/ins>/g)).toHaveLength(60);
    expect(less.match(/An unchanged line\./g)?.length).toBeLessThan(120);
    expect(less).toMatch(/\d+ with values or texts that were shortened/);
  });

  test("has the same marker for every plan of a workspace, which no workspace name can break", () => {
    expect(commentMarker("plan", "studio-a")).toBe("<!-- draftsync:plan workspace=studio-a -->");
    fc.assert(
      fc.property(hostileText, (workspace) => {
        expect(commentMarker("plan", workspace)).toMatch(
          /^<!-- draftsync:plan workspace=(?:(?!--)[\w.!~*'()%-])* -->$/,
        );
      }),
    );
  });
});
