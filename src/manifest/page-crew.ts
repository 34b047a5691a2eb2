import { shareOut, type Threads } from "./crew.ts";
import { isAsKept, type KeptFile } from "./kept-file.ts";
import { type MadePage, makePage } from "./make-page.ts";
import type { PageOrder } from "./page-worker.ts";

/** Manifests of a workspace folder, and the compiled `page-worker`s that may do a part of the work on them. */
export interface PageCrew {
  readonly root: string;
  readonly threads?: Threads | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Makes the pages of all manifests. `take` is given each page as it comes, in no order. */
export function makeAllPages(
  { root, ...crew }: PageCrew,
  files: readonly string[],
  take: (index: number, made: MadePage) => void,
): Promise<void> {
  return shareOut({
    ...crew,
    items: files,
    itemsPerThread: 256,
    batch: 32,
    order: (items): PageOrder => ({ type: "make", root, files: items }),
    work: (file) => makePage(root, file),
    take,
  });
}

/** Tells of all manifests whether each is still the one that was kept. `take` is told as it comes, in no order. */
export function compareAll(
  { root, ...crew }: PageCrew,
  files: readonly KeptFile[],
  take: (index: number, isAsKept: boolean) => void,
): Promise<void> {
  return shareOut({
    ...crew,
    items: files,
    itemsPerThread: 2_500,
    batch: 256,
    order: (items): PageOrder => ({
      type: "compare",
      root,
      files: items.map(({ file }) => file),
      digests: items.map(({ digest }) => digest),
    }),
    work: (file) => isAsKept(root, file),
    take,
  });
}
