import { test } from "vitest";
import { makeFolder } from "../support/cli.ts";
import { checkPage } from "../support/page.ts";

test("the commands of docs/getting-started.md print what the page shows", async () => {
  const folder = await makeFolder();
  try {
    await checkPage("docs/getting-started.md", {
      cwd: folder.path,
      skip: ["npm ci\n"],
      same: { [folder.path]: "/home/you" },
    });
  } finally {
    await folder.dispose();
  }
});
