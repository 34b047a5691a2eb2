import { performance } from "node:perf_hooks";
import { Hono, type MiddlewareHandler } from "hono";
import { type ArrivalLog, readQuery, redactHeaders } from "./arrivals.ts";
import { addDraftPaths } from "./drafts.ts";
import type { Env, World } from "./env.ts";
import { makeFaultGate, sendPastApp } from "./faults/gate.ts";
import { makeGate, makeRateGate } from "./gate.ts";
import { addProductPaths } from "./products.ts";
import { Refusal, refuse, renderRefusal } from "./refusal.ts";
import { BrokenOff } from "./request-body.ts";
import { isStorageRequest, makeStorage } from "./storage/routes.ts";
import { addUploadPaths } from "./uploads.ts";

/**
 * The whole server, without a socket:
 *
 *     request ── arrival noted ── rate bound (/api) ── fault ──┬── storage: S3 in path style below the bucket
 *                                                              └── /api: key, version ── routes
 *     answer  ── arrival logged ── first byte
 */
export function makeApp(world: World, log: ArrivalLog): Hono<Env> {
  const { rate, readings, faults } = world.settings;
  const app = new Hono<Env>();
  app.use(recordArrivals(log));
  if (rate !== undefined) app.use("/api/*", makeRateGate(rate));
  if (faults !== undefined) app.use(makeFaultGate(world, faults));
  app.use(makeStorage(world));
  app.use("/api/*", makeGate(world.settings));
  addUploadPaths(app, world);
  addProductPaths(app, world);
  addDraftPaths(app, world);
  app.notFound((c) =>
    renderRefusal(
      refuse({
        status: 404,
        code: "no-such-path",
        detail: `There is nothing at ${c.get("arrival").path}; the paths of the interface begin with /api.`,
      }),
      readings,
    ),
  );
  app.onError((error) => {
    const refusal =
      error instanceof Refusal
        ? error
        : refuse({ status: 500, code: "sandbox-failed", detail: `The sandbox failed: ${error.message}` });
    return renderRefusal(refusal, readings);
  });
  return app;
}

/** Notes each request as it comes, and logs it when its answer is known and not yet sent. */
function recordArrivals(log: ArrivalLog): MiddlewareHandler<Env> {
  let count = 0;
  return async (c, next) => {
    const { incoming } = c.env;
    const target = incoming.url ?? "/";
    const monotonic = performance.now();
    count += 1;
    c.set("arrival", {
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
    const arrival = c.get("arrival");
    const sending = c.get("sending");
    if (sending !== undefined) arrival.status = sending.status;
    else arrival.status = c.error instanceof BrokenOff ? null : c.res.status;
    arrival.duration = performance.now() - monotonic;
    log.write(arrival);
    await sendPastApp(c);
  };
}
