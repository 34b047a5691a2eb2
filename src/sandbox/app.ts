import { performance } from "node:perf_hooks";
import { Hono, type MiddlewareHandler } from "hono";
import { ApiError, apiError, renderApiError } from "./api-error.ts";
import { addDraftPaths } from "./drafts.ts";
import type { Env, SandboxContext } from "./env.ts";
import { makeFaultGate, sendPastApp } from "./faults/gate.ts";
import { makeGate, makeRateGate } from "./gate.ts";
import { addProductPaths } from "./products.ts";
import { BrokenOff } from "./request-body.ts";
import { type RequestLog, readQuery, redactHeaders } from "./request-log.ts";
import { isStorageRequest, makeStorage } from "./storage/routes.ts";
import { addUploadPaths } from "./uploads.ts";

/**
 * The whole server, without a socket:
 *
 *     request ── entry noted ── rate bound (/api) ── fault ──┬── storage: S3 in path style below the bucket
 *                                                              └── /api: key, version ── routes
 *     answer  ── entry logged ── first byte
 */
export function makeApp(sandbox: SandboxContext, log: RequestLog): Hono<Env> {
  const { rate, behavior, faults } = sandbox.settings;
  const app = new Hono<Env>();
  app.use(logRequests(log));
  if (rate !== undefined) app.use("/api/*", makeRateGate(rate));
  if (faults !== undefined) app.use(makeFaultGate(sandbox, faults));
  app.use(makeStorage(sandbox));
  app.use("/api/*", makeGate(sandbox.settings));
  addUploadPaths(app, sandbox);
  addProductPaths(app, sandbox);
  addDraftPaths(app, sandbox);
  app.notFound((c) =>
    renderApiError(
      apiError({
        status: 404,
        code: "no-such-path",
        detail: `There is nothing at ${c.get("entry").path}; the paths of the interface begin with /api.`,
      }),
      behavior,
    ),
  );
  app.onError((error) => {
    const shown =
      error instanceof ApiError
        ? error
        : apiError({ status: 500, code: "sandbox-failed", detail: `The sandbox failed: ${error.message}` });
    return renderApiError(shown, behavior);
  });
  return app;
}

/** Notes each request as it comes, and logs it when its answer is known and not yet sent. */
function logRequests(log: RequestLog): MiddlewareHandler<Env> {
  let count = 0;
  return async (c, next) => {
    const { incoming } = c.env;
    const target = incoming.url ?? "/";
    const monotonic = performance.now();
    count += 1;
    c.set("entry", {
      sequence: count,
      time: Date.now(),
      monotonic,
      side: isStorageRequest(incoming) ? "storage" : "service",
      method: incoming.method ?? "",
      path: target.split("?", 1)[0] ?? "",
      query: readQuery(target),
      headers: redactHeaders(incoming.headers),
      body: null,
      status: null,
      duration: 0,
    });
    await next();
    const entry = c.get("entry");
    const sending = c.get("sending");
    if (sending !== undefined) entry.status = sending.status;
    else entry.status = c.error instanceof BrokenOff ? null : c.res.status;
    entry.duration = performance.now() - monotonic;
    log.write(entry);
    await sendPastApp(c);
  };
}
