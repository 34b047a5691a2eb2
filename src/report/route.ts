/** What a path looks like, and the pair's path as docs/reference/interface.md writes it. */
const routes: readonly (readonly [RegExp, string])[] = [
  [/^\/api\/drafts\/[^/]+\/(product_files|promotional_files)$/, "/api/drafts/:draft_id/$1"],
  [/^\/api\/drafts\/[^/]+\/(product_files|promotional_files)\/[^/]+$/, "/api/drafts/:draft_id/$1/:id"],
  [/^\/api\/uploads$/, "/api/uploads"],
  [/^\/api\/uploads\/credentials$/, "/api/uploads/credentials"],
  [/^\/api\/uploads\/[^/]+$/, "/api/uploads/:id"],
  [/^\/api\/products$/, "/api/products"],
  [/^\/api\/products\/[^/]+$/, "/api/products/:id"],
  [/^\/api\/products\/[^/]+\/duplicate$/, "/api/products/:id/duplicate"],
];

/** The route of a request's path, without its ids and its query: one of a few texts, `other` for a path that is none. */
export function routeOf(path: string): string {
  const [bare = ""] = path.split("?");
  for (const [shape, route] of routes) {
    if (shape.test(bare)) return bare.replace(shape, route);
  }
  return "other";
}
