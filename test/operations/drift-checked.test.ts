import { expect, test } from "vitest";
import { useWorkspace } from "../support/workspace.ts";

const { run, apply, folder, config, proxy } = useWorkspace({
  files: {
    "manifests/a.yaml": `draft: 1
product_files: [{ file_id: 11, renderer: arnold }, { file_id: 12 }]
`,
  },
});

test("drift exits with an error and explains how to check when nothing was checked", async () => {
  expect(await apply()).toMatchObject({ code: 0 });
  const before = proxy.seen.length;
  for (const format of ["text", "json", "markdown"]) {
    const { code, stdout, stderr } = await run("drift", "--format", format);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain("drift checked nothing: 2 resources recorded");
    expect(stderr).toContain("[nothing-checked]");
    expect(stderr).toContain("draftsync drift --probe");
    expect(stderr).toContain("refresh: { attachments: probe }");
  }
  expect(proxy.seen.length).toBe(before);
});

test("drift --probe checks every file even if the config does not probe", async () => {
  await apply();
  const { code, stdout } = await run("drift", "--probe");
  expect({ code, stdout }).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("All checked resources match.\nChecked 2 resources (2 API calls)."),
  });
  expect(stdout).not.toContain("not checked");
  expect(await run("drift")).toMatchObject({ code: 1 });
});

test("drift reports how many resources it did not check", async () => {
  await apply();
  await folder.write(config("refresh: { attachments: probe, max_calls: 1 }\n"));
  const { code, stdout } = await run("drift");
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /Checked 1 resource \(1 API call\)\.\n1 not checked, .*: over the budget of 1 call; 1 left\./,
  );
  const report = JSON.parse((await run("drift", "--format", "json")).stdout);
  expect(report.refresh).toMatchObject({ checked: 1, not_checked: 1 });
  expect((await run("drift", "--format", "markdown")).stdout).toMatch(/1 not checked/);
});

test("drift reports an error when a file cannot be read", async () => {
  await apply();
  proxy.choose = ({ path }) => (path.endsWith("/12") ? { type: "answer", status: 503 } : undefined);
  const { code, stderr } = await run("drift", "--probe");
  expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining("[not-readable]") });
});

test("drift reports an error when the ledger is empty or the service cannot be read", async () => {
  expect(await run("drift", "--probe")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("the ledger records nothing to compare"),
  });
  await apply();
  proxy.choose = () => ({ type: "answer", status: 503 });
  expect(await run("drift", "--probe")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("drift checked nothing: the service could not be read"),
  });
});

test("drift names what is in doubt also where nothing is recorded", async () => {
  proxy.choose = ({ method }) => (method === "GET" ? undefined : { type: "lost" });
  expect(await apply("--new-ledger")).toMatchObject({ code: 4 });
  const { code, stderr } = await run("drift", "--probe");
  expect(code).toBe(4);
  expect(stderr).toMatch(/\[in-doubt\].*drift checked nothing/s);
});
