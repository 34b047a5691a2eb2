import { rename } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { StateStore } from "../../src/ledger/open-ledger.ts";
import { openLedger } from "../../src/ledger/open-ledger.ts";
import { systemClock } from "../../src/model/ports.ts";
import { startSandbox } from "../../src/sandbox/server.ts";
import { makeFolder, startDraftsync } from "../support/cli.ts";
import { holdAnswers, startFaultyProxy } from "../support/faulty-proxy.ts";
import { checkPage } from "../support/page.ts";

const key = "canary-key-b8d2";
const manifest = `draft: 48213
product_files:
  - { file_id: 9900011, file_format: fbx }
publish: true
---
duplicates:
  - { name: dragon-winter, product: 771200 }
`;

test("the commands of docs/guides/recover-from-doubt.md print what the page shows", async () => {
  const sandbox = await startSandbox({ key });
  onTestFinished(() => sandbox.close());
  const proxy = await startFaultyProxy(sandbox.url);
  onTestFinished(() => proxy.close());
  const folder = await makeFolder({
    "draftsync.yaml": `version: 1
workspace: studio-a
service: { base_url: ${proxy.url}, profile: { settle_delay: 1ms } }
`,
    "manifests/dragon.yaml": manifest,
  });
  onTestFinished(() => folder.dispose());
  const options = { cwd: folder.path, env: { DRAFTSYNC_API_KEY: key } };
  const nothingLost = async () => {
    proxy.choose = () => undefined;
  };

  /** Attaches a file and moves the ledger away before the response arrives. */
  const failLedger = async () => {
    await folder.write({ "manifests/crane.yaml": "draft: 48214\nproduct_files: [{ file_id: 9900012 }]\n" });
    const { held, answer } = holdAnswers();
    proxy.seen.splice(0);
    proxy.choose = () => held;
    const running = startDraftsync(["apply", "--auto-approve"], options);
    await expect.poll(() => proxy.seen.length, { timeout: 60_000 }).toBe(1);
    const ledger = join(folder.path, ".draftsync/state.db");
    const files = ["", "-wal", "-shm"];
    for (const ending of files) await rename(ledger + ending, `${ledger}.away${ending}`);
    answer();
    expect(await running.ended).toMatchObject({ code: 4 });
    for (const ending of files) await rename(`${ledger}.away${ending}`, ledger + ending);
    await nothingLost();
  };

  const withLedger = async (act: (ledger: StateStore) => Promise<unknown>) => {
    const ledger = await openLedger({
      location: join(folder.path, ".draftsync/state.db"),
      clock: systemClock,
    });
    await act(ledger);
    await ledger.close();
  };
  const releaseLock = () =>
    withLedger(async (ledger) => ledger.releaseLock((await ledger.heldLock())?.id ?? "none"));
  const owner = { origin: proxy.url, workspace: "studio-a" };
  await withLedger((ledger) => ledger.bind(owner, systemClock.now()));

  await checkPage("docs/guides/recover-from-doubt.md", {
    ...options,
    same: { [proxy.url]: "https://api.example.com", [folder.path]: "/home/you/studio-a" },
    before: {
      "draftsync apply --auto-approve --target drafts/48213/product_files # exit": async () => {
        proxy.choose = ({ method }) =>
          method === "POST" ? { type: "answer-lost" } : { type: "answer", status: 503 };
      },
      "draftsync apply --auto-approve --target drafts/48213/product_files\n": nothingLost,
      "draftsync apply --auto-approve # exit": async () => {
        proxy.choose = ({ path }) => {
          if (path === "/api/products") return { type: "answer-lost" };
          return path.endsWith("/duplicate") ? { type: "lost" } : undefined;
        };
      },
      "draftsync resolve drafts": nothingLost,
      "draftsync plan # exit": failLedger,
      "draftsync state recover": releaseLock,
    },
  });
  expect(sandbox.state().products).toHaveLength(2);
  expect(sandbox.state().attachments).toHaveLength(2);
});
