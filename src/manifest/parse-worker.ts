import { parentPort } from "node:worker_threads";
import { isAsKept } from "./kept-file.ts";

/** What a thread is told of manifests in a workspace folder. It answers with what came of each, in their order. */
export type PageOrder =
  /** To read them: it answers with their pages. */
  | { readonly type: "make"; readonly root: string; readonly files: readonly string[] }
  /** To look whether each is still the one with the digest at its place. Flat lists: each object of a message costs time. */
  | {
      readonly type: "compare";
      readonly root: string;
      readonly files: readonly string[];
      readonly digests: readonly string[];
    };

parentPort?.on("message", async (order: PageOrder) => {
  const { root, files } = order;
  if (order.type === "compare") {
    const { digests } = order;
    parentPort?.postMessage(files.map((file, at) => isAsKept(root, { file, digest: digests[at] ?? "" })));
    return;
  }
  // Who only compares does not wait for what reads YAML.
  const { makePage } = await import("./make-page.ts");
  parentPort?.postMessage(files.map((file) => makePage(root, file)));
});
