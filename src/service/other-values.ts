import { type Attributes, isSameValue } from "../model/resource.ts";

/** An attribute of which the service returned another value than the one that was sent. */
export interface OtherValue {
  readonly name: string;
  readonly sent: string;
  readonly returned: string;
}

/** The values that the service changed or did not take. What it does not return says nothing. */
export function otherValues(sent: Attributes, returned: Attributes): readonly OtherValue[] {
  const known = new Map<string, unknown>(Object.entries(returned));
  return Object.entries(sent).flatMap(([name, value]) => {
    const other = known.get(name);
    return other === undefined || isSameValue(value, other)
      ? []
      : [{ name, sent: String(value), returned: String(other) }];
  });
}
