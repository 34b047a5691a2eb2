// The yardstick of calls: POSTs over undici and nothing else. As a program of its own (ADDRESS CALLS CONNECTIONS) it prints
// calls a second: it starts cold then, like the apply it is held against.
import { fileURLToPath } from "node:url";
import { Pool } from "undici";

/** Sends `calls` POSTs, as many at a time as there are `callers`; calls a second, and how long one took (mean, milliseconds). */
export async function rawCalls(pool, calls, callers = 32) {
  let left = calls;
  let trips = 0;
  const begun = performance.now();
  const caller = async () => {
    while (left > 0) {
      left -= 1;
      const attributes = { file_id: left, file_format: "fbx", format_version: "2020", renderer: "arnold" };
      const sent = performance.now();
      const { body } = await pool.request({
        path: "/api/drafts/40000/product_files",
        method: "POST",
        headers: { "content-type": "application/vnd.api+json" },
        body: JSON.stringify({ data: { type: "product_file", attributes } }),
      });
      await body.text();
      trips += performance.now() - sent;
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return { rate: (calls / (performance.now() - begun)) * 1000, tripMs: trips / calls };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [url, calls, connections] = process.argv.slice(2);
  const pool = new Pool(url, { connections: Number(connections) });
  const { rate } = await rawCalls(pool, Number(calls), Number(connections));
  await pool.close();
  process.stdout.write(`${rate}\n`);
}
