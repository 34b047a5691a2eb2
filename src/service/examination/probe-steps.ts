import { z } from "zod";
import type { Attributes, FileKind } from "../../model/resource.ts";
import { attributeNames } from "../../model/resource.ts";
import type { Parsed } from "../documents.ts";
import { readProbedFile, readResource } from "../documents.ts";
import type { Look } from "./look.ts";

/** The methods of an update (service-interface.md §4.1: both behave identically). */
export type ProbeMethod = "PATCH" | "PUT";

/** One probe and what was seen. */
export interface ProbeStep {
  readonly method: ProbeMethod;
  readonly look: Look;
}

/** What an answer to a probe tells of the file. */
export interface ProbedFile {
  readonly type: string;
  readonly id: string | undefined;
  /** Those that have a value. */
  readonly attributes: Attributes;
}

const typeSchema = z.object({ data: z.object({ type: z.string() }) });

/** Reads the answer to a probe; the name of its type may be another than the one that is set. */
export function readProbed(document: unknown, kind: FileKind): Parsed<Attributes> {
  const type = typeSchema.safeParse(document).data?.data.type ?? "";
  return readProbedFile(document, { kind }, { ...anyType, product_file: type, promotional_file: type });
}

const anyType = { upload: "", upload_credential: "", product: "", draft: "" };

/** The file that a probe has told; `undefined` when it told none. */
export function probedFile({ look }: ProbeStep, kind: FileKind): ProbedFile | undefined {
  if (look.type === "failed" || look.status !== 200 || look.body.type !== "json") return undefined;
  const type = typeSchema.safeParse(look.body.document).data?.data.type ?? "";
  const resource = readResource(look.body.document, type);
  const reading = readProbed(look.body.document, kind);
  if (resource.type === "malformed" || !("value" in reading)) return undefined;
  return { type, id: resource.value.id, attributes: withValue(reading.value ?? {}) };
}

/** The attributes that have a value: an empty text is what a service may tell of one that has none. */
export function withValue(attributes: Attributes): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== ""));
}

/** Whether the service has not this method: the other one may be tried. */
export function isMethodRefused({ look }: ProbeStep): boolean {
  return look.type === "answer" && (look.status === 405 || look.status === 501);
}

/** What probing knows of the file beside the answers. */
export interface ProbedRecord {
  readonly kind: FileKind;
  /** What the ledger holds of it; nothing when it is not recorded. */
  readonly recorded: Attributes;
}

/**
 * The next probe; `undefined` when there is nothing more that a probe may find out. Nothing is sent any more once
 * something has changed, or once a change would not be seen.
 *
 * ```
 *   PATCH ──405──> PUT ─> PUT, end
 *     └─ shows attributes ─> PATCH ── the same ─> PUT ── answered ─> PATCH, end
 * ```
 */
export function nextProbe(steps: readonly ProbeStep[], known: ProbedRecord): ProbeMethod | undefined {
  const usable = steps.filter((step) => !isMethodRefused(step));
  const [first, second, third, fourth] = usable;
  if (first === undefined) return steps.length === 0 ? "PATCH" : steps.length === 1 ? "PUT" : undefined;
  const seen = probedFile(first, known.kind);
  if (seen === undefined || !tells(seen.attributes)) return undefined;
  if (lostSince(known.recorded, seen.attributes).length > 0) return undefined;
  if (second === undefined) return first.method;
  if (!isSame(probedFile(second, known.kind), seen.attributes)) return undefined;
  if (first.method === "PUT" || steps.length > usable.length || fourth !== undefined) return undefined;
  if (third === undefined) return "PUT";
  return third.look.type === "answer" && third.look.status < 300 ? "PATCH" : undefined;
}

/** Whether attributes show that nothing has cleared them: an empty text, and `false`, may be what clearing leaves. */
export function tells(attributes: Attributes): boolean {
  return Object.values(attributes).some((value) => value !== "" && value !== false);
}

/** The attributes that had a telling value and have none any more. */
export function lostSince(before: Attributes, after: Attributes): readonly string[] {
  const values = new Map(Object.entries(after));
  return Object.entries(before)
    .filter(([name, value]) => tells({ [name]: value }) && !tells({ [name]: values.get(name) ?? "" }))
    .map(([name]) => name);
}

/** Whether a later probe shows the same attributes. */
export function isSame(file: ProbedFile | undefined, before: Attributes): boolean {
  return file !== undefined && canonical(file.attributes) === canonical(before);
}

/** In the order of the interface; what is not set is left out. */
function canonical(attributes: Attributes): string {
  const names: readonly (keyof Attributes)[] = [
    ...attributeNames.product_files,
    ...attributeNames.promotional_files,
  ];
  return JSON.stringify(names.map((name) => attributes[name] ?? null));
}
