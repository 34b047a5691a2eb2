import { parentPort, workerData } from "node:worker_threads";
import type { OpenedFile } from "./ledger-file.ts";
import type { ReadingOrder, ReadingReply } from "./reading-thread.ts";
import { connectToRead } from "./sqlite-connection.ts";
import { SqliteSession } from "./sqlite-session.ts";
import { tellFailure } from "./told-failure.ts";

type OrderToReply = Exclude<ReadingOrder, "close">;

const { location, file }: OpenedFile = workerData;
let session: SqliteSession | undefined;

function open(): ReadingReply {
  const { database, still } = connectToRead(location, file);
  session = new SqliteSession(database);
  return { type: "opened", still };
}

function carryOut(order: OrderToReply): ReadingReply {
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
  }
  return { type: "done", rows: [] };
}

function reply(order: OrderToReply): ReadingReply {
  try {
    return carryOut(order);
  } catch (error) {
    return tellFailure(error, location);
  }
}

parentPort?.on("message", (order: ReadingOrder) => {
  if (order !== "close") {
    parentPort?.postMessage(reply(order));
    return;
  }
  parentPort?.close();
  session?.close();
});
