// The trivial server, as a process of its own.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const script = fileURLToPath(new URL("trivial-server.mjs", import.meta.url));

/** Starts one; `args` are its own. */
export async function startServer(...args) {
  const child = spawn(process.execPath, [script, ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (more) => {
    text += more;
  });
  await once(child.stdout, "data");
  const url = text.trim();
  return {
    url,
    /** When requests came, if the server noted it. */
    stop: async () => {
      child.kill("SIGTERM");
      await once(child, "close");
      return JSON.parse(text.slice(text.indexOf("\n") + 1));
    },
  };
}

/** Has `work` done at a server that is there for nothing else. */
export async function atServer(work) {
  const server = await startServer();
  try {
    return await work(server);
  } finally {
    await server.stop();
  }
}
