import type { z } from "zod";
import type { Diagnostic } from "../model/diagnostic.ts";
import { decodeText } from "./decode-text.ts";
import { explainIssues } from "./explain-issues.ts";
import { Located } from "./located.ts";
import { makeValue, spanOf } from "./node-values.ts";
import type { ParsedDocument } from "./parse-yaml.ts";
import { parseYaml } from "./parse-yaml.ts";
import type { Finding } from "./source-text.ts";
import { SourceText } from "./source-text.ts";

/** Why a document fits none of the schemas it could be meant for. `key`: the key the problem is about. */
export interface SchemaProblem {
  readonly code: string;
  readonly message: string;
  readonly hint: string;
  readonly key?: string;
}

/** The schema of every document, or a choice that looks at the document's plain value first. */
export type SchemaChoice<T> = z.ZodType<T> | ((value: unknown) => z.ZodType<T> | SchemaProblem);

/** What {@link readYaml} needs. */
export interface ReadYamlOptions<T> {
  /** The name to show, relative to the workspace. */
  readonly file: string;
  readonly bytes: Uint8Array;
  readonly schema: SchemaChoice<T>;
  /** `one`: a file without a document, or with a second one, is an error. `many` unless told. */
  readonly documents?: "one" | "many";
  /** Little is read in all: compiling the schema would take longer. What comes of it is the same. */
  readonly isLittle?: boolean;
}

/** A document that fits its schema. */
export interface YamlDocument<T> {
  readonly value: T;
  /** Where each value stands. Holds the parsed document: not to be kept. */
  readonly root: Located;
}

/** What came of a file. With errors among the diagnostics, `documents` holds those without any. */
export interface YamlReading<T> {
  readonly documents: readonly YamlDocument<T>[];
  /** The places of documents that are sound YAML and do not fit the schema: parts of them can still be looked at. */
  readonly misfits: readonly Located[];
  /** In the order of the text. */
  readonly diagnostics: readonly Diagnostic[];
  /** The file's text, for diagnostics of the caller; empty when it could not be decoded. */
  readonly source: SourceText;
}

/**
 * Reads a YAML 1.2 file (core schema, UTF-8) against a zod schema. What YAML leaves to a reader's guess is an error:
 * see {@link parseYaml} for the text, {@link makeValue} for numbers, keys and aliases. Everything that is wrong in the
 * file is reported at once, each with its place, the line, and how to mend it; only a document with broken syntax
 * is not looked into further. Nothing is thrown.
 *
 * Mistakes against the schema are put in words here; a schema brings words of its own by
 * `refine(test, { error, params })`, with `params` as {@link ruleParams} has them. `{label}` at the start of such a
 * message becomes the name of the value. Descriptions of the schema are used as hints.
 *
 * | code | says |
 * |---|---|
 * | not-utf8, control-character | the bytes are not fit for text |
 * | yaml-syntax, yaml-tab, yaml-tag, yaml-directive, nesting-too-deep | the text is not the YAML that is read |
 * | duplicate-key, key-collision, bad-key, merge-key, unknown-key, missing-key | keys |
 * | unknown-alias, cyclic-alias, alias-bomb | aliases |
 * | null-value, quoted-number, ambiguous-number, number-out-of-range, unquoted-text, not-a-boolean, wrong-type, unknown-value, empty-text, empty-list, too-long, invalid-value | values |
 * | empty-file, second-document | documents |
 */
export function readYaml<T>(options: ReadYamlOptions<T>): YamlReading<T> {
  const decoded = decodeText(options.file, options.bytes);
  if (!decoded.ok) {
    const source = new SourceText(options.file, "");
    return { documents: [], misfits: [], diagnostics: [decoded.diagnostic], source };
  }
  const source = decoded.source;
  const parsed = parseYaml(source.text);
  const findings = [...parsed.findings];
  const documents: YamlDocument<T>[] = [];
  const misfits: Located[] = [];
  for (const document of parsed.documents) {
    const read = readDocument(document, source, options);
    for (const finding of read.findings) findings.push(finding);
    if (read.document !== undefined) documents.push(read.document);
    else if (read.misfit !== undefined) misfits.push(read.misfit);
  }
  findings.push(...countFindings(parsed.documents, findings, options.documents ?? "many"));
  findings.sort((a, b) => a.span[0] - b.span[0]);
  return { documents, misfits, diagnostics: findings.map((finding) => source.diagnose(finding)), source };
}

interface ReadDocument<T> {
  readonly document?: YamlDocument<T>;
  readonly misfit?: Located;
  readonly findings: readonly Finding[];
}

function readDocument<T>(
  parsed: ParsedDocument,
  source: SourceText,
  { schema: choice, isLittle = false }: ReadYamlOptions<T>,
): ReadDocument<T> {
  if (parsed.broken || parsed.root === null) return { findings: [] };
  const content = makeValue(parsed.root, source.text);
  const root = new Located({ source, targets: content.targets }, parsed.root);
  const schema = typeof choice === "function" ? choice(content.value) : choice;
  if ("code" in schema) {
    const { key, ...problem } = schema;
    const span = key === undefined ? root.span : (root.get(key)?.keySpan ?? root.span);
    return { findings: [...content.findings, { ...problem, span }] };
  }
  const result = schema.safeParse(content.value, { jitless: isLittle });
  if (result.success) {
    return content.findings.length === 0
      ? { document: { value: result.data, root }, findings: [] }
      : { misfit: root, findings: content.findings };
  }
  const explained = explainIssues({ schema, issues: result.error.issues, content, root });
  return { misfit: root, findings: [...content.findings, ...explained] };
}

function countFindings(
  documents: readonly ParsedDocument[],
  findings: readonly Finding[],
  wanted: "one" | "many",
) {
  if (documents.length === 0 && findings.length === 0) {
    const empty: Finding = {
      severity: wanted === "one" ? "error" : "warning",
      code: "empty-file",
      message: "The file is empty, or holds comments only",
      hint:
        wanted === "one" ? "Write the settings into it." : "Write a document into it, or remove the file.",
      span: [0, 0],
    };
    return [empty];
  }
  const second = wanted === "one" ? documents[1]?.root : undefined;
  if (!second) return [];
  const finding: Finding = {
    code: "second-document",
    message: "A second document starts here, and this file must have one",
    hint: "Remove the line with --- and what follows it.",
    span: spanOf(second),
  };
  return [finding];
}
