import type { Hono } from "hono";
import { apiError } from "./api-error.ts";
import type { Env, RequestContext } from "./env.ts";

/** What answers one method on a path. */
export type Handler = (c: RequestContext) => Response | Promise<Response>;

/** The methods a path takes. */
export type Methods = Readonly<Partial<Record<"GET" | "POST" | "PUT" | "PATCH" | "DELETE", Handler>>>;

/** Puts a path in place. Any other method on it is answered 405 with `Allow` (RFC 9110 §15.5.6). */
export function addPath(app: Hono<Env>, path: string, methods: Methods): void {
  const allowed = Object.keys(methods).flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method]));
  for (const [method, handler] of Object.entries(methods)) app.on(method, path, handler);
  app.all(path, (c) => {
    throw apiError(
      {
        status: 405,
        code: "method-not-allowed",
        detail: `${c.env.incoming.method} is not allowed here; ${allowed.join(", ")} is.`,
      },
      { allow: allowed.join(", ") },
    );
  });
}
