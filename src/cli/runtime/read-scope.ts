import type { AddressScope } from "../../model/scope.ts";
import { parseScope } from "../../model/scope.ts";
import { CliError } from "./cli-error.ts";

/** The scope that an argument names. Throws {@link CliError} `address-unknown` when it is none. */
export function readScope(text: string): AddressScope {
  const scope = parseScope(text);
  if (scope !== undefined) return scope;
  throw new CliError(`${JSON.stringify(text)} is not an address`, {
    code: "address-unknown",
    hint: "Use an address from `draftsync state list`, or a draft such as drafts/48213.",
  });
}
