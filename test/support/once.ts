const registry = globalThis as typeof globalThis & { draftsyncTestSetups?: Map<string, unknown> };

/**
 * What `make` returns, made by the first caller: several projects of a run have the same setup, and each loads the
 * modules of its own.
 */
export function once<T>(name: string, make: () => T): T {
  registry.draftsyncTestSetups ??= new Map();
  if (!registry.draftsyncTestSetups.has(name)) registry.draftsyncTestSetups.set(name, make());
  return registry.draftsyncTestSetups.get(name) as T;
}
