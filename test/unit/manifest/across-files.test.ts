import { expect, test } from "vitest";
import { complete } from "../../support/complete.ts";
import { briefsWithFile, load } from "./support.ts";

const failures: readonly (readonly [
  name: string,
  files: Record<string, string>,
  expected: string[],
  message: string,
])[] = [
  [
    "a draft in two documents of a file",
    { "a.yaml": "draft: 1\n---\ndraft: 1\n" },
    ["a.yaml:3:8 duplicate-draft «1»"],
    "a.yaml:1:8",
  ],
  [
    "a draft in two files",
    { "a/x.yaml": "# x\ndraft: 17\n", "b.yaml": "draft: 2\n---\nprotect: true\ndraft: 17\n" },
    ["b.yaml:4:8 duplicate-draft «17»"],
    "a/x.yaml:2:8",
  ],
  [
    "a file id twice in a list",
    {
      "a.yaml": "draft: 1\nproduct_files:\n  - file_id: 7\n  - file_id: 8\n  - file_id: 7\n    renderer: x\n",
    },
    ["a.yaml:5:14 duplicate-file «7»"],
    "line 3",
  ],
  [
    "an upload id twice in a list",
    { "a.yaml": "draft: 1\nproduct_files:\n  - upload_id: u\n  - upload_id: u\n" },
    ["a.yaml:4:16 duplicate-file «u»"],
    "line 3",
  ],
  [
    "an upload key twice in a list",
    { "a.yaml": "draft: 1\npromotional_files:\n  - upload_key: k/a\n  - upload_key: k/a\n" },
    ["a.yaml:4:17 duplicate-file «k/a»"],
    "line 3",
  ],
  [
    "a source twice in a list, written in two ways",
    { "m/a.yaml": "draft: 1\nproduct_files:\n  - source: f/x\n  - source: ./f//../f/x\n", "m/f/x": "x" },
    ["m/a.yaml:4:13 duplicate-file «./f//../f/x»"],
    "m/f/x",
  ],
  [
    "a name twice among duplicates of two files",
    {
      "a.yaml": "duplicates:\n  - { name: winter, product: 7 }\n",
      "b.yaml": "duplicates:\n  - { name: winter, product: 8 }\n",
    },
    ["b.yaml:2:13 duplicate-name «winter»"],
    "a.yaml:2:13",
  ],
  [
    "a name in two Unicode forms",
    { "a.yaml": "duplicates:\n  - { name: caf\u00e9, product: 7 }\n  - { name: cafe\u0301, product: 8 }\n" },
    ["a.yaml:3:13 duplicate-name «cafe\u0301»"],
    "a.yaml:2:13",
  ],
  [
    "a name that differs in blanks and characters without width",
    { "a.yaml": 'duplicates:\n  - { name: x, product: 7 }\n  - { name: "x\u200d ", product: 8 }\n' },
    ['a.yaml:3:13 duplicate-name «"x\u200d "»'],
    "a.yaml:2:13",
  ],
  [
    "a name that a CI system takes for a command",
    {
      "a.yaml":
        "duplicates:\n  - { name: 'a ##vso[b]', product: 7 }\n  - { name: 'a #[b] ##', product: 8 }\n",
    },
    ["a.yaml:2:13 unfit-name «'a ##vso[b]'»"],
    "without a CI log command",
  ],
  [
    "a file twice through an alias",
    { "a.yaml": "draft: 1\nproduct_files:\n  - &f { file_id: 7 }\n  - *f\n" },
    ["a.yaml:3:19 duplicate-file «7»"],
    "line 3",
  ],
];

test.each(failures)("rejects %s", async (_name, files, expected, message) => {
  const { diagnostics } = await load(files);
  expect(briefsWithFile(diagnostics)).toEqual(expected);
  expect(diagnostics[0]?.severity).toBe("error");
  expect(diagnostics[0]?.message).toContain(message);
});

test("warns about a file in two drafts, and names the other location", async () => {
  const loaded = await load({
    "a.yaml": "draft: 1\nproduct_files:\n  - file_id: 7\n",
    "b.yaml": "draft: 2\npromotional_files:\n  - file_id: 7\n",
  });
  const { diagnostics, desired } = complete(loaded);
  expect(briefsWithFile(diagnostics)).toEqual(["b.yaml:3:14 file-in-two-drafts «7»"]);
  expect(diagnostics[0]).toMatchObject({ severity: "warning", address: "drafts/2/promotional_files/7" });
  expect(diagnostics[0]?.message).toContain("draft 1 as well, at a.yaml:3:14");
  expect(desired.drafts).toHaveLength(2);
});

test("accepts a file in both lists of a draft, and sources that differ in case", async () => {
  const { diagnostics } = await load({
    "a.yaml":
      "draft: 1\nproduct_files:\n  - file_id: 7\n  - source: A.fbx\n  - source: a.fbx\npromotional_files:\n  - file_id: 7\n",
    "A.fbx": "1",
    "a.fbx": "2",
  });
  expect(diagnostics).toEqual([]);
});

test("reports the mistakes of all files at once, sorted by file and position", async () => {
  const { diagnostics, files } = await load({
    "c.yaml": "draft: 3\nproduct_files:\n  - source: nowhere\n",
    "a.yaml": "draft: 0\nprotect: 1\n",
    "b.yaml": "draft: 3\n\tx: 1\n",
    "d.yaml": "draft: 3\n",
    "e.yaml": "",
  });
  expect(files).toEqual(["a.yaml", "b.yaml", "c.yaml", "d.yaml", "e.yaml"]);
  expect(briefsWithFile(diagnostics)).toEqual([
    "a.yaml:1:8 number-out-of-range «0»",
    "a.yaml:2:10 not-a-boolean «1»",
    "b.yaml:2:1 yaml-tab « »",
    "c.yaml:3:13 source-missing «nowhere»",
    "d.yaml:1:8 duplicate-draft «3»",
    "e.yaml:1:1 empty-file «»",
  ]);
  expect(diagnostics.at(-1)?.severity).toBe("error");
});
