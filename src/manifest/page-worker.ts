import { parentPort } from "node:worker_threads";
import { type MadePage, makePage } from "./make-page.ts";

/** What a thread is told: manifests to read, of a workspace folder. It answers with their pages, in that order. */
export interface PageOrder {
  readonly root: string;
  readonly files: readonly string[];
}

parentPort?.on("message", ({ root, files }: PageOrder) => {
  const pages: readonly MadePage[] = files.map((file) => makePage(root, file));
  parentPort?.postMessage(pages);
});
