import type { z } from "zod";
import type { Diagnostic } from "../model/diagnostic.ts";
import { type NonEmpty, nonEmpty } from "../model/lists.ts";
import { explainIssues } from "./explain-issues.ts";
import { Located } from "./located.ts";
import { makeValue, type NodeValue, spanOf } from "./node-values.ts";
import { type ParsedDocument, type ParsedStream, parseYaml } from "./parse-yaml.ts";
import { decodeText } from "./read-manifest.ts";
import { distinctIssues, SourceText, type YamlIssue } from "./source-text.ts";

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
  /** `one`: a file without a document, or with a second one, is an error. The default is `many`. */
  readonly documents?: "one" | "many";
  /** Little is read in all: compiling the schema would take longer. What comes of it is the same. */
  readonly isLittle?: boolean;
}

/** A document that fits its schema. */
export interface YamlDocument<T> {
  readonly value: T;
  /** Where each value stands. Holds the parsed document: not to be kept. */
  readonly root: Located;
  /** For {@link explainIssues}. */
  readonly content: NodeValue;
}

/** All documents of a file, or at least one error. */
export type ReadYaml<T> = CompleteDocument<T> | FailedDocument<T>;

interface CompleteDocument<T> {
  readonly ok: true;
  readonly documents: readonly YamlDocument<T>[];
  /** The file's text, for diagnostics of the caller. */
  readonly source: SourceText;
}

interface FailedDocument<T> {
  readonly ok: false;
  /** In the order of the text. */
  readonly errors: NonEmpty<Diagnostic>;
  /** Documents without an error, to find further mistakes in; never to be used as the content of the file. */
  readonly sound: readonly YamlDocument<T>[];
  /** The places of documents that are valid YAML and do not fit the schema: parts of them can be checked. */
  readonly misfits: readonly Located[];
  /** Empty when the file could not be decoded. */
  readonly source: SourceText;
}

/**
 * Reads a YAML 1.2 file (core schema, UTF-8) against a zod schema. What YAML leaves to a reader's guess is an error:
 * see {@link parseYaml} for the text, {@link makeValue} for numbers, keys and aliases. Everything that is wrong in the
 * file is reported at once, each with its place, the line, and how to fix it; only a document with broken syntax
 * is not checked further. Nothing is thrown.
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
 * | null-value, quoted-number, ambiguous-number, number-out-of-range, unquoted-text, not-a-boolean, wrong-type, unknown-value, empty-text, empty-list, invalid-value | values |
 * | empty-file, second-document | documents |
 */
export function readYaml<T>(options: ReadYamlOptions<T>): ReadYaml<T> {
  const decoded = decodeText(options.file, options.bytes);
  if (!decoded.ok) {
    const source = new SourceText(options.file, "");
    return { ok: false, errors: [decoded.diagnostic], sound: [], misfits: [], source };
  }
  const { source } = decoded;
  const parsed = parseYaml(source.text);
  const issues = [...parsed.issues, ...countIssues(parsed, options.documents ?? "many")];
  const documents: YamlDocument<T>[] = [];
  const misfits: Located[] = [];
  for (const document of parsed.documents) {
    const read = readDocument(document, source, options);
    if (read.ok) {
      documents.push(read.document);
      continue;
    }
    for (const error of read.errors) issues.push(error);
    if (read.misfit !== undefined) misfits.push(read.misfit);
  }
  const errors = nonEmpty(distinctIssues(issues));
  if (errors === undefined) return { ok: true, documents, source };
  const [first, ...others] = errors;
  const diagnostics: NonEmpty<Diagnostic> = [
    source.diagnose(first),
    ...others.map((each) => source.diagnose(each)),
  ];
  return { ok: false, errors: diagnostics, sound: documents, misfits, source };
}

type ReadDocument<T> =
  | { readonly ok: true; readonly document: YamlDocument<T> }
  | { readonly ok: false; readonly errors: NonEmpty<YamlIssue>; readonly misfit?: Located };

function readDocument<T>(
  parsed: ParsedDocument,
  source: SourceText,
  { schema: choice, isLittle = false }: ReadYamlOptions<T>,
): ReadDocument<T> {
  if (!parsed.ok) return parsed;
  const content = makeValue(parsed.root, source.text);
  const root = new Located({ source, targets: content.targets }, parsed.root);
  const schema = typeof choice === "function" ? choice(content.value) : choice;
  if ("code" in schema) {
    const { key, ...problem } = schema;
    const span = key === undefined ? root.span : (root.get(key)?.keySpan ?? root.span);
    return { ok: false, errors: [{ ...problem, span }, ...content.issues] };
  }
  const result = schema.safeParse(content.value, { jitless: isLittle });
  const issues = result.success ? [] : explainIssues({ schema, issues: result.error.issues, content, root });
  const errors = nonEmpty([...content.issues, ...issues]);
  if (errors !== undefined) return { ok: false, errors, misfit: root };
  // Unreachable: a schema that rejects a value reports a zod issue, and each becomes one of ours.
  if (!result.success) return { ok: false, errors: [{ ...unexplained, span: root.span }] };
  return { ok: true, document: { value: result.data, root, content } };
}

const unexplained = {
  code: "invalid-value",
  message: "This document does not have the form of a manifest",
  hint: "Compare it with the reference of manifests.",
};

function countIssues({ documents, issues }: ParsedStream, wanted: "one" | "many"): YamlIssue[] {
  if (documents.length === 0 && issues.length === 0) {
    const hint =
      wanted === "one" ? "Write the settings into it." : "Write a document into it, or remove the file.";
    return [{ code: "empty-file", message: "The file is empty, or holds only comments", hint, span: [0, 0] }];
  }
  const second = wanted === "one" ? documents[1] : undefined;
  if (second === undefined || !second.ok) return [];
  return [
    {
      code: "second-document",
      message: "A second document starts here, and this file must have one",
      hint: "Remove the line with --- and what follows it.",
      span: spanOf(second.root),
    },
  ];
}
