import { filesBelow } from "./source-files.ts";

const sources = filesBelow("src", ".ts");

/** A use of a code in the sources, or of an expression that is not recognized. */
export interface CodeUse {
  readonly code: string;
  readonly where: string;
}

/** Expressions whose code is found elsewhere (types, variables, schemas), or that are not codes of draftsync. */
const passedOn =
  /^(?:(?:string|text|textSchema|number|ExitCode|[A-Z]\w*)(?: \| undefined)?|\w+(?:\.\w+)?\.code|code|message|ledgerCode|z\.string\(|event\.type|name|text\.\w+\(.*|typeof stopped.*|codeOfRefusal\(.*|lostCodes\[.*|FindingFacts.*|"custom")$/;

/** Functions with a code among their first arguments. */
const takers =
  /\b(?:new [A-Za-z]*Error|refused|super)\(\s*(?:file,\s*)?"([a-z0-9]+(?:-[a-z0-9]+)+|[a-z]+)",/g;

/** Functions of doctor that make a result. */
const results = /\b(?:ok|warning|failed|failedBy|unknown)\(\s*"([a-z0-9]+(?:-[a-z0-9]+)+)",/g;

/**
 * Every code that draftsync can print: values of a member `code`, first arguments of errors, and
 * members of types named `…Code`. Of the sandbox, only the errors that stop it, not its responses. A
 * value that is neither a literal nor a known expression is returned with the code `?`.
 */
export function codesInSources(): readonly CodeUse[] {
  return sources.flatMap(({ path, text: source }) => {
    const text = withoutComments(source);
    const inSandbox = path.startsWith("src/sandbox/");
    const members = inSandbox
      ? text.matchAll(/(?:SandboxError\(\{|params: \{)\s*code: ([^,;}]+)/g)
      : text.matchAll(/(?<![.\w])code: ?\s*([^,;})]+(?:\[[^\]]*\])?)/g);
    const given = inSandbox ? [] : [...text.matchAll(takers), ...text.matchAll(results)];
    return [
      ...[...members].flatMap(([whole, value = ""]) => codesOf(value.trim(), `${path}: ${whole.trim()}`)),
      ...given.map(([whole, code = ""]) => ({ code, where: `${path}: ${whole}` })),
      ...(inSandbox ? [] : codeTypes(text)).map(({ code, type }) => ({ code, where: `${path}: ${type}` })),
    ];
  });
}

/** The members of exported types named `…Code`: unions of literals, and the keys of an interface or object of the same file. */
function codeTypes(text: string): { code: string; type: string }[] {
  const unions = [...text.matchAll(/export type (\w+Code) =((?:\s*\|?\s*"[^"]+")+);/g)].flatMap(
    ([, type = "", members = ""]) =>
      [...members.matchAll(/"([^"]+)"/g)].map(([, code = ""]) => ({ code, type })),
  );
  const keys = [...text.matchAll(/export type (\w+Code) = keyof (?:typeof )?(\w+);/g)].flatMap(
    ([, type = "", holder = ""]) => {
      const [, body = ""] =
        new RegExp(`(?:interface ${holder}|const ${holder} =) \\{\\n([^]*?)\\n\\}`).exec(text) ?? [];
      return [...body.matchAll(/^ {2}"?([a-z-]+)"?:/gm)].map(([, code = ""]) => ({ code, type }));
    },
  );
  return [...unions, ...keys];
}

/** Whether a string literal occurs in the sources, also in types and tables of codes. */
export function isInSources(literal: string): boolean {
  return sources.some(({ text }) => text.includes(`"${literal}"`));
}

function codesOf(value: string, where: string): CodeUse[] {
  if (passedOn.test(value)) return [];
  const literals = [...value.matchAll(/(?<!=== )"([^"]*)"/g)].map(([, code = ""]) => ({ code, where }));
  return literals.length > 0 ? literals : [{ code: "?", where }];
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/^\s*\/\/.*$/gm, "");
}
