import { createRequire } from "node:module";
import { messageOf } from "../../src/model/errors.ts";

interface Model {
  /** Throws an error that says what does not fit. */
  validate(): void;
}

const load = createRequire(import.meta.url);

/**
 * What is wrong with an object by the schemas that Kubernetes publishes, fields that they do not know included; empty
 * when nothing is. Throws for a kind that Kubernetes itself does not have.
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
 * An object that notes what is read of it. The schemas of Kubernetes say what a field may hold, not which fields there
 * are; but a field that they know is one that the validator reads.
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
