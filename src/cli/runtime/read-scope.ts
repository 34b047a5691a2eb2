import type { Recorded } from "../../model/recorded.ts";
import type { AddressScope } from "../../model/scope.ts";
import { parseScope } from "../../model/scope.ts";
import { resolveTargets } from "../../plan/target-names.ts";
import { CliError } from "./cli-error.ts";

/**
 * What an argument selects in the ledger: an address, or drafts by their id or recorded title. Throws {@link CliError}
 * `address-unknown` when it is none.
 */
export function readScopes(text: string, { titles }: Pick<Recorded, "titles">): readonly AddressScope[] {
  return resolveTargets([text], { drafts: [], duplicates: [] }, { titles }).map((target) => {
    const scope = parseScope(target);
    if (scope !== undefined) return scope;
    throw new CliError(`${JSON.stringify(text)} is not an address, and not the id or title of a draft`, {
      code: "address-unknown",
      hint: "Use an address from `draftsync state list`, or a draft such as drafts/48213.",
    });
  });
}
