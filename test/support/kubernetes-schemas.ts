import { createRequire } from "node:module";
import { messageOf } from "../../src/model/errors.ts";

interface Model {
  /** Throws an error about the invalid field. */
  validate(): void;
}

const load = createRequire(import.meta.url);

/**
 * The errors of an object by the schemas of Kubernetes, unknown fields included.
 * Throws for a kind that Kubernetes does not have.
 */
export function kubernetesFaults(object: { readonly apiVersion: string; readonly kind: string }): string[] {
  const { apiVersion, kind } = object;
  const kinds: Readonly<Record<string, new (object: object) => Model>> = load(
    `kubernetes-models/${apiVersion}`,
  );
  const Kind = kinds[kind];
  if (Kind === undefined) throw new Error(`there is no ${kind} in ${apiVersion}`);
  const { watched, unread } = watch(new Kind(object));
  const faults: string[] = [];
  try {
    watched.validate();
  } catch (error) {
    faults.push(messageOf(error));
  }
  return [...faults, ...unread().map((path) => `${path} is not known`)];
}

/**
 * Records the fields that are read from an object. The schemas of Kubernetes check values, not the set of
 * fields, but the validator reads only fields that it knows.
 */
function watch<T extends object>(root: T) {
  const left = new Set<string>();
  const wrapped = new Map<object, object>();
  const wrap = <Part extends object>(value: Part, path: string): Part => {
    for (const key of Object.keys(value)) left.add(`${path}/${key}`);
    return new Proxy(value, {
      get: (target, key) => {
        const read: unknown = Reflect.get(target, key);
        if (typeof key !== "string") return read;
        const within = `${path}/${key}`;
        left.delete(within);
        if (typeof read !== "object" || read === null) return read;
        const again = wrapped.get(read) ?? wrap(read, within);
        wrapped.set(read, again);
        return again;
      },
    });
  };
  return { watched: wrap(root, ""), unread: () => [...left].sort() };
}
