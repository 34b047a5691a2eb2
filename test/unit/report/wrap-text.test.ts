import { expect, test } from "vitest";
import { wrapText } from "../../../src/report/log-line.ts";

const line = "  hint: Check manifests/brass-diving-helmet.yaml:4:14, and what it declares there.";

test("a long line breaks between words, and goes on below its beginning", () => {
  expect(wrapText(`short\n${line}\n`, 50)).toBe(
    "short\n  hint: Check\n    manifests/brass-diving-helmet.yaml:4:14, and\n    what it declares there.\n",
  );
});

test("colors take no room, and a path that is longer than the terminal stays whole", () => {
  const path = "x".repeat(60);
  expect(wrapText(`\u001b[31merror:\u001b[39m ${path} end`, 50)).toBe(
    `\u001b[31merror:\u001b[39m\n  ${path}\n  end`,
  );
  expect(wrapText(`\u001b[31m${"y".repeat(45)}\u001b[39m end`, 50)).toBe(
    `\u001b[31m${"y".repeat(45)}\u001b[39m end`,
  );
});

test.each([undefined, 20])("nothing is wrapped where the width is %s", (columns) => {
  expect(wrapText(line, columns)).toBe(line);
});
