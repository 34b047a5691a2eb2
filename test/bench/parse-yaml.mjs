// The yardstick: the library's `parse` over every manifest below a folder, on one thread. Prints milliseconds.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";

const folder = process.argv[2];
const texts = readdirSync(folder, { recursive: true })
  .filter((file) => file.endsWith(".yaml"))
  .map((file) => readFileSync(join(folder, file), "utf8"));
const begun = performance.now();
for (const text of texts) parse(text);
process.stdout.write(`${performance.now() - begun}\n`);
