import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { stringify } from "yaml";
import { FAULTS } from "../../src/sandbox/faults/catalogue.ts";
import type { RequestLogEntry, SandboxState } from "../../src/sandbox/server.ts";
import { startSandbox } from "../../src/sandbox/server.ts";
import type { Ended, Folder, Running } from "../support/cli.ts";
import { draftsync, makeFolder, startDraftsync } from "../support/cli.ts";

const key = "canary-key-e3f4";

/** Every fault with each of its effects and short times. */
const variants = Object.entries(FAULTS)
  .flatMap(([fault, { effects, takes }]) =>
    effects.map((effect) => ({
      fault,
      effect,
      ...(takes.includes("status") ? { status: 503 } : {}),
      ...(takes.includes("late") && effect === "after" ? { late: "30ms" } : {}),
      ...(fault === "delay" ? { for: "100ms" } : {}),
    })),
  )
  // Last, because the client is slow for a while afterwards.
  .sort((a, b) => Number(a.fault === "throttle") - Number(b.fault === "throttle"));
const ofStorage = variants.filter(
  ({ fault, effect }) => ["reset", "close", "status", "garbage"].includes(fault) && effect !== "after",
);

/** Fault n hits the attachment of draft n, the n-th publish and the n-th upload. */
const rules = [
  ...variants.map((variant, at) => ({
    ...variant,
    when: { method: "POST", path: `/api/drafts/${at + 1}/product_files` },
  })),
  ...variants.map((variant, at) => ({
    ...variant,
    when: { method: "POST", path: "/api/products", nth: at + 1 },
  })),
  ...variants.map((variant, at) => ({
    ...variant,
    when: { method: "POST", path: "/api/uploads", nth: at + 1 },
  })),
  ...ofStorage.map((variant, at) => ({ ...variant, when: { side: "storage", nth: 2 * at + 1 } })),
  {
    fault: "foreign-endpoint",
    to: "http://127.0.0.1:1",
    when: { method: "POST", path: "/api/uploads/credentials" },
  },
  { fault: "status", status: 401, when: { method: "POST", path: "/api/drafts/*/promotional_files" } },
];

const drafts = variants.map((_variant, at) => ({
  draft: at + 1,
  product_files: [{ file_id: 1000 + at, file_format: "fbx" }, { source: `../files/${at}.obj` }],
  ...(at === 0 ? { promotional_files: [{ file_id: 9, description: "One" }] } : {}),
  publish: true,
}));
const sources = Object.fromEntries(variants.map((_variant, at) => [`files/${at}.obj`, `v ${at} 0 0\n`]));

/** Enough applies for all faults; more would mean an endless loop. */
const maxApplies = 60;

describe("rehearsal of every fault", () => {
  let folder: Folder;
  let sandbox: Running;
  let arrivals: RequestLogEntry[];
  let state: SandboxState;
  const applies: Ended[] = [];

  beforeAll(async () => {
    folder = await makeFolder({
      "faults.yaml": stringify({ rules }),
      "manifests/all.yaml": drafts.map((draft) => stringify(draft)).join("---\n"),
      ...sources,
    });
    const options = { cwd: folder.path, env: { DRAFTSYNC_API_KEY: key } };
    sandbox = startDraftsync(
      ["sandbox", "--port", "0", "--key", key, "--db", "sandbox.db", "--log", "arrivals.ndjson"].concat([
        "--faults",
        "faults.yaml",
        "--processing",
        "0ms",
        "--behavior",
        "doubleAttach=accepted",
      ]),
      options,
    );
    await vi.waitFor(() => expect(sandbox.stderr()).toContain("The sandbox is running"), 20_000);
    await folder.write({
      "draftsync.yaml": `version: 1
workspace: rehearsal
service:
  base_url: ${sandbox.stdout().trim()}
  rate: { limit: 1000, window: 1s }
  timeout: 1s
  profile: { settle_delay: 100ms, upload_poll_min: 10ms }
`,
    });
    for (let calls = -1; applies.length < maxApplies; ) {
      const ended = await draftsync(["apply", "--auto-approve"], options);
      applies.push(ended);
      const log = await folder.read("arrivals.ndjson");
      arrivals = log
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line));
      // A file was attached before it was recorded: the operator confirms that its draft was not published.
      const marked = ended.stderr.matchAll(/resolve (\S+\/product) --not-done/g);
      for (const [, address = ""] of marked) await draftsync(["resolve", address, "--not-done"], options);
      if (ended.code === 0 || (ended.code === 4 && arrivals.length === calls)) break;
      calls = arrivals.length;
    }
    sandbox.kill("SIGTERM");
    await sandbox.ended;
    const reopened = await startSandbox({ key, db: join(folder.path, "sandbox.db") });
    state = reopened.state();
    await reopened.close();
  }, 300_000);

  afterAll(async () => {
    sandbox.kill("SIGTERM");
    await folder.dispose();
  });

  const inDoubt = (what: string) =>
    (applies.at(-1)?.stdout ?? "").split("\n").filter((line) => line.startsWith(`    ? ${what}`));

  test("ends with only what an operator has to resolve", () => {
    expect(applies.length).toBeLessThan(maxApplies);
    expect(applies.at(-1)).toMatchObject({ code: 4 });
    expect(applies.at(-1)?.stdout).not.toMatch(/^ +[+~-] /m);
  });

  test("triggers every rule", () => {
    const met = new Set(arrivals.map(({ fault }) => fault?.rule));
    const missed = rules.filter((rule, at) => !met.has(at + 1) && rule.fault !== "foreign-endpoint");
    expect(missed).toEqual([]);
  });

  test("attaches nothing twice", () => {
    const attached = arrivals
      .filter(({ method, path }) => method === "POST" && path.startsWith("/api/drafts/"))
      .filter(tookEffect)
      .map(({ path, body }) => `${path} ${JSON.stringify(body)}`);
    const twice = new Set(attached.filter((call, at) => attached.indexOf(call) !== at));
    const whatCame = arrivals.filter(({ path }) => [...twice].some((call) => call.startsWith(path)));
    expect({ twice, whatCame }).toEqual({ twice: new Set(), whatCame: [] });
    expect(state.attachments).toHaveLength(variants.length * 2 + 1);
    expect(inDoubt("product_files")).toEqual([]);
  });

  test("publishes nothing twice, and sends nothing in doubt again", () => {
    const published = state.products.map(({ draftId }) => draftId);
    expect(new Set(published).size).toBe(published.length);
    const perDraft = new Map<string, RequestLogEntry[]>();
    for (const arrival of arrivals.filter(({ path }) => path === "/api/products")) {
      const draft = JSON.stringify(arrival.body);
      perDraft.set(draft, [...(perDraft.get(draft) ?? []), arrival]);
    }
    expect(perDraft.size).toBe(variants.length);
    for (const calls of perDraft.values()) {
      expect(calls.slice(0, -1).filter((arrival) => !wasRefused(arrival))).toEqual([]);
    }
  });

  test("prints neither the key nor an escape sequence", () => {
    const output = applies.map(({ stdout, stderr }) => stdout + stderr).join("");
    expect(output).toContain("u{1b}");
    expect(output).not.toContain(key);
    expect(output).not.toContain("\u001b");
  });
});

function tookEffect({ status, fault }: RequestLogEntry): boolean {
  if (fault === undefined) return status !== null && status < 300;
  return fault.effect === "after" || (fault.answered !== null && fault.answered < 300);
}

/** A refusal that leaves no doubt: 3xx and 4xx except 408 and 409. */
function wasRefused({ status }: RequestLogEntry): boolean {
  return status !== null && status >= 300 && status < 500 && status !== 408 && status !== 409;
}
