import { afterAll, beforeAll } from "vitest";
import { type Sandbox, type SandboxOptions, startSandbox } from "../../../src/sandbox/server.ts";
import { type ApiResponse, type Call, call, KEY } from "./call.ts";

/** A sandbox for the tests of a file or a block: started before them, closed after them. */
export function useSandbox(options: Partial<SandboxOptions> = {}) {
  let running: Sandbox | undefined;
  beforeAll(async () => {
    running = await startSandbox({ key: KEY, uploadProcessingMs: 0, ...options });
  });
  afterAll(async () => {
    await running?.close();
  });
  const sandbox = (): Sandbox => {
    if (running === undefined) throw new Error("The sandbox runs inside tests only.");
    return running;
  };
  return {
    sandbox,
    send: (request: Call): Promise<ApiResponse> => call(sandbox().url, request),
  };
}
