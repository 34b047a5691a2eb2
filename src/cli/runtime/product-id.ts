import { InvalidArgumentError } from "commander";
import { parseId } from "../../model/address.ts";

/** A commander option parser for a product's id. */
export function parseProductId(text: string): number {
  const id = parseId(text);
  if (id === undefined) throw new InvalidArgumentError("A product id is a plain number, such as 771200.");
  return id;
}
