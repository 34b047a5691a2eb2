import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { formatKeptOutcome, parseKeptOutcomes } from "../../../src/ledger/kept-outcome.ts";
import {
  makeKeeper,
  RecoveryFiles,
  readRecoveryFile,
  removeRecoveryFile,
} from "../../../src/ledger/recovery-files.ts";
import { systemClock } from "../../../src/model/ports.ts";
import type { KeptOutcome } from "../../../src/model/recovery.ts";
import { attached, attachOperation, lostAnswer } from "./ledger-values.ts";
import { freshFolder } from "./samples.ts";

const at = 1_700_000_000_789;

function kept(id: string = crypto.randomUUID(), other: Partial<KeptOutcome> = {}): KeptOutcome {
  return {
    lineage: "lineage-1",
    owner: { origin: "https://api.example.com", workspace: "w" },
    command: "apply",
    keptAt: at,
    operation: attachOperation(id),
    result: { outcome: "done", status: 201, attempts: 1 },
    effects: [attached(1, { attributes: { description: "line\nnext \u0000 \ud800 end" } })],
    ...other,
  };
}

function makeFiles(workspace = "w") {
  const [root, temporary] = [freshFolder(), freshFolder()];
  return { root, temporary, files: new RecoveryFiles({ root, workspace, temporary }) };
}

test("an outcome is kept in a file of its own, private, whole, and read back as it was", () => {
  const { root, files } = makeFiles();
  const [one, other] = [
    kept(undefined, { productId: 70 }),
    kept(undefined, { result: { outcome: "unknown", status: 504, attempts: 2, failure: lostAnswer } }),
  ];
  const paths = [files.keep(one), files.keep(other)];
  expect(files.list()).toEqual([...paths].sort());
  expect(paths.map((path) => readRecoveryFile(path ?? ""))).toEqual([[one], [other]]);
  for (const path of files.list()) {
    expect(dirname(path)).toBe(join(root, ".draftsync", "recovery"));
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(dirname(path)).mode & 0o777).toBe(0o700);
  }
  removeRecoveryFile(paths[0] ?? "");
  removeRecoveryFile(paths[0] ?? "");
  expect(files.list()).toEqual([paths[1]]);
});

test("files of another workspace in the same folder, and what is half written, are not this one's", () => {
  const { root, temporary, files } = makeFiles();
  const other = new RecoveryFiles({ root, workspace: "w.2", temporary });
  const path = other.keep(kept()) ?? "";
  writeFileSync(join(dirname(path), `w.${crypto.randomUUID()}.json.part`), "{");
  expect(files.list()).toEqual([]);
  expect(other.list()).toEqual([path]);
});

test("the room for a full disk is reserved once, and given up when something must be kept", () => {
  const { root, files } = makeFiles();
  const reserve = join(root, ".draftsync", "recovery", "w.reserve");
  files.reserve();
  expect(statSync(reserve).size).toBe(1 << 20);
  const before = statSync(reserve, { bigint: true }).mtimeNs;
  files.reserve();
  expect(statSync(reserve, { bigint: true }).mtimeNs).toBe(before);
  files.keep(kept());
  expect(existsSync(reserve)).toBe(false);
});

test("when a folder takes nothing the next one does, and none is an answer too", () => {
  const { root, temporary, files } = makeFiles();
  writeFileSync(join(root, ".draftsync"), "not a folder");
  expect(dirname(files.keep(kept()) ?? "")).toBe(join(root, "draftsync-recovery"));
  const full = makeFiles();
  writeFileSync(join(full.root, ".draftsync"), "");
  writeFileSync(join(full.root, "draftsync-recovery"), "");
  const path = full.files.keep(kept()) ?? "";
  expect(dirname(dirname(path))).toBe(full.temporary);
  expect(full.files.list()).toEqual([path]);
  expect(readdirSync(temporary)).toEqual([]);
  const lines: string[] = [];
  const nowhere = new RecoveryFiles({ root: join(full.root, ".draftsync"), workspace: "w", temporary: path });
  const { keptAt: _at, operation, result, effects, ...run } = kept();
  const keeper = makeKeeper({
    ...run,
    files: nowhere,
    clock: systemClock,
    handOver: (line) => lines.push(line),
  });
  expect(keeper.hold({ operation, result, effects }).keep()).toBeUndefined();
  expect(lines.flatMap((line) => parseKeptOutcomes(line, "stderr"))).toMatchObject([
    { operation, result, effects },
  ]);
});

test("what is still held when the process ends is kept; what the ledger has is not", () => {
  const { files } = makeFiles();
  const { keptAt: _at, operation: _operation, ...run } = kept();
  const keeper = makeKeeper({ ...run, files, clock: systemClock, handOver: () => {} });
  const hold = (id: string) => keeper.hold({ ...run, operation: attachOperation(id) });
  const [recorded, lost, pending] = [crypto.randomUUID(), crypto.randomUUID(), crypto.randomUUID()];
  hold(recorded).release();
  hold(lost).keep();
  hold(pending);
  keeper.keepHeld();
  keeper.keepHeld();
  const ids = files.list().map((path) => readRecoveryFile(path)[0]?.operation.id);
  expect(ids.sort()).toEqual([lost, pending].sort());
});

test("a folder that somebody else may have put among the temporary files is not used", () => {
  const { root, temporary, files } = makeFiles();
  for (const name of [".draftsync", "draftsync-recovery"]) writeFileSync(join(root, name), "");
  const shared = dirname(files.keep(kept()) ?? "");
  const planted = makeFiles();
  for (const name of [".draftsync", "draftsync-recovery"]) writeFileSync(join(planted.root, name), "");
  const path = planted.files.keep(kept()) ?? "";
  const open = new RecoveryFiles({ root: planted.root, workspace: "w", temporary });
  symlinkSync(dirname(path), join(temporary, dirname(path).split("/").at(-1) ?? ""));
  expect(open.list()).toEqual([]);
  expect(open.keep(kept())).toBeUndefined();
  mkdirSync(join(temporary, "x"));
  expect(readdirSync(shared)).toHaveLength(1);
});

const line = formatKeptOutcome(kept());
test.each([
  { name: "nothing", text: "\n", says: "is empty" },
  { name: "no JSON", text: "{", says: "is not JSON" },
  { name: "something else", text: '{"lineage":"x"}', says: "is not a recovery file" },
  { name: "a newer version", text: '{"format_version":2}', says: "format version 2" },
  { name: "half a file", text: line.slice(0, -40), says: "is not JSON" },
  { name: "a wrong value", text: line.replace('"done"', '"fine"'), says: "damaged at result.outcome" },
  { name: "an unknown effect", text: line.replace('"attached"', '"sold"'), says: "damaged at effects.0" },
])("$name is refused", ({ text, says }) => {
  expect(() => parseKeptOutcomes(text, "kept.json")).toThrow(
    expect.objectContaining({ code: "recovery-invalid", message: expect.stringContaining(says) }),
  );
});

test("several lines are several outcomes", () => {
  const [one, other] = [kept(), kept()];
  const text = `${formatKeptOutcome(one)}\n${formatKeptOutcome(other)}`;
  expect(parseKeptOutcomes(text, "lines")).toEqual([one, other]);
  expect(readFileSync(makeFiles().files.keep(one) ?? "", "utf8").split("\n")).toHaveLength(2);
});
