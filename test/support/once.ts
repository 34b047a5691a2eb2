const registry = globalThis as typeof globalThis & { draftsyncTestSetups?: Map<string, unknown> };

/**
 * Calls `make` once for all callers. Several projects of a run have the same setup, and each loads its
 * own modules.
 */
export function once<T>(name: string, make: () => T): T {
  registry.draftsyncTestSetups ??= new Map();
  if (!registry.draftsyncTestSetups.has(name)) registry.draftsyncTestSetups.set(name, make());
  return registry.draftsyncTestSetups.get(name) as T;
}
