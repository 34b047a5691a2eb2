import { expect, test } from "vitest";
import { useWorkspace } from "../support/workspace.ts";

const { sandbox, folder, apply } = useWorkspace({
  files: { "manifests/a.yaml": "draft: 1\nproduct_files: [{ file_id: 1 }]\n" },
  sandbox: { behavior: { errors: "problem" } },
});

test("a publish is all that is left to do at a service that answers errors with problem details", async () => {
  await apply();
  await folder.write({ "manifests/a.yaml": "draft: 1\nproduct_files: [{ file_id: 1 }]\npublish: true\n" });
  expect(await apply()).toMatchObject({ code: 0 });
  expect(sandbox.state().products).toHaveLength(1);
});
