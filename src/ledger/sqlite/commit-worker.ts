import { parentPort, workerData } from "node:worker_threads";
import { type CommitterMessage, StepCommitter } from "./step-committer.ts";

const committer = new StepCommitter(workerData);

parentPort?.on("message", (order: CommitterMessage) => {
  if (order !== "close") {
    parentPort?.postMessage(committer.commit(order));
    return;
  }
  committer.close();
  parentPort?.close();
});
