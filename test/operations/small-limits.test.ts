import { expect, test } from "vitest";
import { answerProcessing } from "../support/registrations.ts";
import { useWorkspace } from "../support/workspace.ts";

const refusal = {
  type: "answer",
  status: 400,
  body: '{"errors":[{"status":"400"}]}',
  headers: { "content-type": "application/vnd.api+json" },
} as const;

const drafts = (renderer: string, more: string) =>
  `draft: 1\nproduct_files: [{ file_id: 11, renderer: ${renderer} }]\n---\ndraft: 2\nproduct_files: [{ file_id: 21 }${more}]\n`;

const { apply, config, folder, proxy, run, sandbox } = useWorkspace({
  files: { "manifests/a.yaml": drafts("a", "") },
});

/** A workspace with these settings, a renderer of the first draft, and a new file in the second. */
const withNewFile = (sections: string, renderer: string) => ({
  ...config(sections),
  "files/f.bin": "content",
  "manifests/a.yaml": drafts(renderer, ", { source: ../files/f.bin }"),
});

/** Every file is probed in each refresh. */
const refresh = "refresh: { attachments: probe, max_age: 0s }\n";

test("a change that is refused in every run and a refresh do not use up a small --max-calls for ever", async () => {
  await apply();
  await folder.write(withNewFile(`${refresh}reconcile: { allow: [create, update] }\n`, "b"));
  proxy.choose = ({ method, path }) =>
    method === "PATCH" && path.startsWith("/api/drafts/1/") ? refusal : undefined;
  for (let runs = 0; runs < 6; runs += 1) await run("reconcile", "--max-calls", "2");
  const attached = sandbox.state().attachments.filter(({ draftId }) => draftId === 2);
  expect(attached).toHaveLength(2);
});

test("a change that is refused in every run does not hide that --max-calls is too small for the others", async () => {
  await apply();
  await folder.write({
    "manifests/a.yaml": drafts("b", "").replace("[{ file_id: 21 }]", "[{ file_id: 21 }]\npublish: true"),
  });
  proxy.choose = ({ method }) => (method === "PATCH" ? refusal : undefined);
  for (let runs = 0; runs < 2; runs += 1) {
    expect(await apply("--max-calls", "1")).toMatchObject({
      code: 3,
      stderr: expect.stringContaining(
        "warning: --max-calls 1 is too small for what is left: the next operation takes 2.\n  Use --max-calls 2 or more.\n",
      ),
    });
  }
  expect((await apply("--max-calls", "2")).stderr).not.toContain("too small");
  expect(sandbox.state().products).toHaveLength(1);
});

test("changes of one draft that are refused in turn do not hide that --max-calls is too small for the others", async () => {
  await apply();
  await folder.write({
    "manifests/a.yaml":
      "draft: 1\nproduct_files: [{ file_id: 11, renderer: a }, { file_id: 12 }, { file_id: 13 }]\n",
    "manifests/b.yaml":
      "draft: 2\nproduct_files: [{ file_id: 21 }]\n---\nduplicates: [{ name: copy, product: 700 }]\n",
  });
  proxy.choose = ({ method }) => (method === "POST" ? refusal : undefined);
  const runs: string[] = [];
  for (let count = 0; count < 4; count += 1) runs.push((await apply("--max-calls", "1")).stderr);
  expect(runs.join("")).toContain("too small for what is left: the next operation takes 2.\n");
});

test.each([
  ["1", "none", "the next operation takes 2.\n  Use --max-calls 2 or more.\n"],
  ["2", "full", "the refresh used 1, and the next operation takes 2.\n  Use --max-calls 4 or more.\n"],
])(
  "an upload in processing does not hide that --max-calls %s with --refresh %s is too small for the others",
  async (limit, mode, warning) => {
    proxy.choose = answerProcessing;
    const entry = "product_files: [{ source: ../files/f.bin }]\n";
    await folder.write({ "files/f.bin": "content", "manifests/a.yaml": `draft: 1\n${entry}` });
    expect((await apply("--max-calls", "2")).code).toBe(7);
    const other = entry.replace("f.bin", "g.bin");
    await folder.write({ "files/g.bin": "other content", "manifests/b.yaml": `draft: 2\n${other}` });
    for (let runs = 0; runs < 2; runs += 1) {
      const { code, stderr } = await apply("--max-calls", limit, "--refresh", mode);
      expect([code, stderr]).toEqual([7, expect.stringContaining(`too small for what is left: ${warning}`)]);
    }
  },
);

test("a small --max-calls that the refresh has used is no error if the next run has enough", async () => {
  await apply();
  await folder.write(withNewFile(refresh, "a"));
  const ends = [
    await apply("--max-calls", "2"),
    await apply("--max-calls", "2"),
    await apply("--max-calls", "2"),
  ];
  expect(ends.map(({ code }) => code)).toEqual([7, 7, 0]);
  for (const { stderr } of ends) expect(stderr).not.toContain("too small");
});
