import { parentPort } from "node:worker_threads";
import { isAsKept, type KeptFile, makePage } from "./make-page.ts";

/** What a thread is told of manifests in a workspace folder. It answers with what came of each, in their order. */
export type PageOrder =
  /** To read them: it answers with their pages. */
  | { readonly type: "make"; readonly root: string; readonly files: readonly string[] }
  /** To look whether each is still the one that was kept. */
  | { readonly type: "compare"; readonly root: string; readonly files: readonly KeptFile[] };

parentPort?.on("message", (order: PageOrder) => {
  const { root } = order;
  parentPort?.postMessage(
    order.type === "make"
      ? order.files.map((file) => makePage(root, file))
      : order.files.map((file) => isAsKept(root, file)),
  );
});
