import { parentPort, workerData } from "node:worker_threads";
import type { ReadingOrder, ReadingReply, ReadingThreadData } from "./reading-thread.ts";
import { connectToRead } from "./sqlite-connection.ts";
import { SqliteSession } from "./sqlite-session.ts";
import { tellFailure } from "./told-failure.ts";

const { location }: ReadingThreadData = workerData;
let session: SqliteSession | undefined;

function open(): ReadingReply {
  const { database, still } = connectToRead(location);
  session = new SqliteSession(database);
  return { type: "opened", still };
}

function carryOut(order: ReadingOrder): ReadingReply {
  switch (order.type) {
    case "open":
      return open();
    case "begin":
      session?.begin(order.settings);
      break;
    case "query":
      return { type: "done", rows: session?.query(order.text, order.parameters).rows ?? [] };
    case "commit":
      session?.commit();
      break;
    case "rollback":
      session?.rollback();
      break;
    case "close":
      parentPort?.close();
      session?.close();
      break;
  }
  return { type: "done", rows: [] };
}

parentPort?.on("message", (order: ReadingOrder) => {
  let reply: ReadingReply;
  try {
    reply = carryOut(order);
  } catch (error) {
    reply = tellFailure(error, location);
  }
  parentPort?.postMessage(reply);
});
