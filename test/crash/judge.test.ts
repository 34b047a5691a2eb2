import { expect, test } from "vitest";
import type { StoredOperation } from "../../src/model/history.ts";
import type { RequestLogEntry } from "../../src/sandbox/request-log.ts";
import type { SandboxState } from "../../src/sandbox/state.ts";
import { type Evidence, judge } from "./support/judge.ts";
import { desired } from "./support/scenario.ts";

// If the judge missed forged evidence, it would also miss defects of the program.

let sequence = 0;
const arrival = (method: string, path: string, body: unknown, status: number | null): RequestLogEntry => ({
  sequence: ++sequence,
  time: 0,
  monotonic: 0,
  side: "service",
  method,
  path,
  query: {},
  headers: {},
  body,
  status,
  duration: 1,
});
const attaching = { data: { attributes: { file_id: 11 } } };
const publishing = { data: { relationships: { draft: { data: { id: "1" } } } } };
const attach = (status: number | null = 201) =>
  arrival("POST", "/api/drafts/1/product_files", attaching, status);
const publish = (status: number | null = 201) => arrival("POST", "/api/products", publishing, status);

const common = { runId: "r", startedAt: 0, attempts: 1 };
const attached: StoredOperation = {
  ...common,
  id: "a",
  kind: "attach",
  address: "drafts/1/product_files/11",
  method: "POST",
  path: "/api/drafts/1/product_files",
  intent: { draftId: 1, fileKind: "product_files", fileId: 11 },
  outcome: "done",
};
const { outcome: _unknown, ...lost }: StoredOperation = {
  ...common,
  id: "p",
  kind: "publish",
  address: "drafts/1/product",
  method: "POST",
  path: "/api/products",
  intent: { draftId: 1 },
  outcome: "done",
};

const attachments = desired.map((each, at) => {
  const fileId = each.fileId === "uploaded" ? 9_000_000_001 : each.fileId;
  return { ...each, fileId, number: at };
});
const made = { duplicateOf: null, publishedAt: 0 };
const state: SandboxState = {
  attachments,
  products: [
    { ...made, id: 1, draftId: 1, files: attachments.filter(({ draftId }) => draftId === 1) },
    { ...made, id: 2, draftId: 2, files: attachments.filter(({ draftId }) => draftId === 2) },
    { ...made, id: 3, draftId: null, duplicateOf: 5, files: [] },
  ],
  uploads: [],
  objects: [],
};

const clean: Evidence = {
  killed: [attach(), publish(null)],
  rerun: [],
  afterResolve: [publish()],
  operations: [attached, lost],
  notDone: ["drafts/1/product"],
  state,
};

test("finds no problem in correct evidence", () => {
  expect(judge(clean)).toEqual([]);
});

test.each<[string, Partial<Evidence>]>([
  ["sent before its intent was recorded", { operations: [lost] }],
  ["sent before its intent was recorded", { operations: [attached] }],
  ["completed and sent again", { rerun: [attach(422)] }],
  [
    "attached and posted again",
    { operations: [{ ...attached, outcome: "unknown" }, lost], rerun: [attach()] },
  ],
  ["sent a second time without proof", { rerun: [publish(null)], afterResolve: [] }],
  ["sent a second time without proof", { notDone: [] }],
  ["sent a second time without proof", { afterResolve: [publish(), publish()] }],
  ["differs from the manifests", { state: { ...state, attachments: state.attachments.slice(1) } }],
  ["differs from the manifests", { state: { ...state, products: [...state.products, ...state.products] } }],
  [
    "published with 0 files",
    { state: { ...state, products: state.products.map((each) => ({ ...each, files: [] })) } },
  ],
])("finds a problem in forged evidence: %s", (problem, forged) => {
  expect(judge({ ...clean, ...forged }).join("\n")).toContain(problem);
});
