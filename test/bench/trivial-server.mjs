// The least a service can do: it answers every request at once with a JSON:API document, and nothing is kept.
// Prints its address; `--arrivals` has it print, at SIGTERM, when each request came (monotonic milliseconds).
import { createServer } from "node:http";

const arrivals = [];
const noted = process.argv.includes("--arrivals");
const server = createServer((request, response) => {
  if (noted) arrivals.push(performance.now());
  let body = "";
  request.setEncoding("utf8");
  request.on("data", (text) => {
    body += text;
  });
  request.on("end", () => {
    const { type, attributes } = JSON.parse(body).data;
    const answer = JSON.stringify({ data: { type, id: String(attributes.file_id ?? 1), attributes } });
    response.writeHead(request.method === "POST" ? 201 : 200, {
      "content-type": "application/vnd.api+json",
      "content-length": Buffer.byteLength(answer),
    });
    response.end(answer);
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () => process.stdout.write(`http://127.0.0.1:${server.address().port}\n`));
process.on("SIGTERM", () => {
  process.stdout.write(`${JSON.stringify(arrivals)}\n`, () => process.exit(0));
});
