import { afterEach, beforeEach, expect, test } from "vitest";
import { type Sandbox, startSandbox } from "../../src/sandbox/server.ts";
import { useWorkspace } from "../support/workspace.ts";

const key = "canary-key-71c0";
const { apply, config, folder, run } = useWorkspace({
  files: { "manifests/a.yaml": "draft: 1\nproduct_files: [{ file_id: 1 }]\n", "a.bin": "a" },
  sandbox: { key },
});

let elsewhere: Sandbox;
let arrivals: number;

beforeEach(async () => {
  arrivals = 0;
  elsewhere = await startSandbox({
    key,
    log: () => {
      arrivals += 1;
    },
  });
});

afterEach(() => elsewhere.close());

test("every command that calls the service refuses to send the key to an address that differs from the ledger's", async () => {
  expect((await apply()).code).toBe(0);
  const { "draftsync.yaml": own } = config();
  await folder.write({ "draftsync.yaml": own.replace(/base_url: .*/, `base_url: ${elsewhere.url}`) });
  const commands = [
    ["plan", "--refresh", "full"],
    ["apply", "--auto-approve"],
    ["drift"],
    ["reconcile"],
    ["import", "--all"],
    ["doctor"],
    ["doctor", "--draft", "1", "--file", "1", "--auto-approve"],
    ["uploads", "credentials"],
    ["uploads", "create", "a.bin"],
    ["uploads", "get", "1"],
    ["uploads", "list", "1"],
    ["products", "get", "1"],
    ["products", "duplicate", "1", "--auto-approve"],
  ];
  for (const command of commands) {
    const { code, stdout, stderr } = await run(...command);
    const reported = command[0] === "doctor" ? stdout : stderr;
    expect({ command, code, arrivals, reported }).toEqual({
      command,
      code: 1,
      arrivals: 0,
      reported: expect.stringContaining("the ledger belongs to workspace w at http://"),
    });
  }
});
