// The yardstick of calls: POSTs over undici and nothing else, as a program of its own: it starts cold then, like the apply it is
// held against. `ADDRESS CALLS CONNECTIONS [REST]` sends as many at a time as there are connections, and rests that many
// milliseconds after each answer before the next call takes its place: the least that a bound of CONNECTIONS calls in any REST
// milliseconds allows. Prints calls a second, from the first call to the last answer.
import { setTimeout } from "node:timers/promises";
import { Pool } from "undici";

const [url, calls, connections, rest] = process.argv.slice(2);
const restMs = Number(rest ?? 0);
const pool = new Pool(url, { connections: Number(connections) });
let left = Number(calls);
let answeredAt = 0;
const begun = performance.now();
await Promise.all(Array.from({ length: Number(connections) }, keepCalling));
await pool.close();
process.stdout.write(`${(Number(calls) / (answeredAt - begun)) * 1000}\n`);

async function keepCalling() {
  while (left > 0) {
    left -= 1;
    const attributes = { file_id: left, file_format: "fbx", format_version: "2020", renderer: "arnold" };
    const { body } = await pool.request({
      path: "/api/drafts/40000/product_files",
      method: "POST",
      headers: { "content-type": "application/vnd.api+json" },
      body: JSON.stringify({ data: { type: "product_file", attributes } }),
    });
    await body.text();
    answeredAt = performance.now();
    if (restMs > 0) await setTimeout(restMs);
  }
}
