/**
 * What `make` returns, made when it is first asked for and kept. For what takes long to make and is not needed in most
 * runs. When `make` throws, nothing is kept.
 */
export function lazily<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
