/** The media type of every document of the interface. */
export const JSON_API = "application/vnd.api+json";

/** A media type or media range with its parameters; names in lower case (RFC 9110 §8.3.1). */
interface MediaType {
  readonly name: string;
  readonly parameters: ReadonlyMap<string, string>;
}

const PARAMETER = /;[ \t]*([^\s;=",]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s;",]*))/g;

/** Reads one media type, or `undefined` without `type/subtype`. */
export function parseMediaType(text: string): MediaType | undefined {
  const name = /^[ \t]*([^\s;,"/]+\/[^\s;,"/]+)[ \t]*(?=;|$)/.exec(text)?.[1];
  if (name === undefined) return undefined;
  const parameters = new Map<string, string>();
  for (const [, key = "", quoted, token] of text.matchAll(PARAMETER)) {
    parameters.set(key.toLowerCase(), quoted?.replace(/\\(.)/g, "$1") ?? token ?? "");
  }
  return { name: name.toLowerCase(), parameters };
}

/** Reads an `Accept` header (RFC 9110 §12.5.1); other members are ignored. */
export function parseAccept(header: string): MediaType[] {
  const members = header.match(/(?:"(?:[^"\\]|\\.)*"|[^,"])+/g) ?? [];
  return members.flatMap((member) => parseMediaType(member) ?? []);
}
