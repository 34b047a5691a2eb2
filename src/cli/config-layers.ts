import { readFile, stat } from "node:fs/promises";
import { dirname, relative, resolve } from "node:path";
import { z } from "zod";
import { isPostgresLocation } from "../ledger/postgres/postgres-location.ts";
import { explainIssues, pathId, withoutUnions } from "../manifest/explain-issues.ts";
import type { YamlDocument } from "../manifest/read-yaml.ts";
import { distinctIssues, type SourceText, type YamlIssue } from "../manifest/source-text.ts";
import type { Diagnostic } from "../model/diagnostic.ts";
import { fileHint, messageOf, systemCodeOf } from "../model/errors.ts";
import { nonEmpty } from "../model/lists.ts";
import { configSchema } from "./config-schema.ts";
import { CliError, DiagnosticsError } from "./runtime/cli-error.ts";
import { parseSettings } from "./runtime/input-files.ts";

/** A config, or a file that one extends. */
interface Layer extends YamlDocument<unknown> {
  /** Absolute. */
  readonly path: string;
  readonly source: SourceText;
}

/** What belongs to one workspace. */
const ownKeys = ["workspace", "manifests", "state"] as const;

/** Settings that are paths, relative to the file that has them. */
const pathKeys = [
  ["service", "api_key_file"],
  ["service", "ca_file"],
  ["service", "rate", "shared"],
  ["notify", "url_file"],
] as const;

/**
 * Reads a config and the files that it extends, the nearest first: mappings are merged, any other value of the nearer file
 * wins. `root` has the locations of the config's own values. `shown` is the name of a file in messages. Throws
 * `DiagnosticsError` with every mistake in the files, each at its line, and `CliError` for a file that cannot be read.
 */
export async function readConfigLayers(
  file: string,
  shown: (path: string) => string,
): Promise<YamlDocument<z.output<typeof configSchema>>> {
  const own = readLayer(file, await readConfig(file), shown);
  const bases = await readBases(own, shown);
  const merged = [own, ...bases].reduceRight<unknown>(
    (value, layer) => merge(value, layer === own ? layer.value : withPathsFrom(layer, dirname(file))),
    undefined,
  );
  const result = configSchema.safeParse(merged, { jitless: true });
  const odd = bases.filter(({ value }) => !isMapping(value));
  const found = [
    ...odd.flatMap((base) => explain(configSchema.safeParse(base.value).error?.issues ?? [], [base])),
    ...bases.flatMap(unshareable),
    ...(result.success ? [] : explain(result.error.issues, [own, ...bases])),
  ];
  const errors = nonEmpty(found);
  if (errors !== undefined) throw new DiagnosticsError(errors);
  if (!result.success) throw new Error("every issue of the config has an error");
  return { ...own, value: result.data };
}

function readLayer(path: string, bytes: Uint8Array, shown: (path: string) => string): Layer {
  return { ...parseSettings({ file: shown(path), bytes, schema: z.unknown() }), path };
}

/** The files that a config extends, the nearest first. */
async function readBases(own: Layer, shown: (path: string) => string): Promise<readonly Layer[]> {
  const layers = [own];
  for (let layer = own; ; ) {
    const base = isMapping(layer.value) ? layer.value.extends : undefined;
    if (typeof base !== "string" || base === "") return layers.slice(1);
    const path = resolve(dirname(layer.path), base);
    const report = (issue: Omit<YamlIssue, "span">) => {
      const span = layer.root.closest(["extends"]).span;
      return new DiagnosticsError([layer.source.diagnose({ ...issue, span })]);
    };
    if (layers.some((each) => each.path === path)) {
      const message = `${shown(path)} extends itself, directly or through other files`;
      throw report({ code: "extends-cycle", message, hint: "Remove one of the `extends`." });
    }
    const bytes = await readConfig(path, shown(path)).catch(({ code, message }: CliError) => {
      throw report({ code, message, hint: "The path is relative to this file." });
    });
    layer = readLayer(path, bytes, shown);
    layers.push(layer);
  }
}

const configHint = "Check the path and the permissions of the config.";

/** Reads a file of settings. Throws {@link CliError}, which calls the file `name`. */
export async function readConfig(file: string, name = file, hint = configHint): Promise<Uint8Array> {
  try {
    // A pipe would be waited for, maybe for ever.
    if (!(await stat(file)).isFile()) throw new Error("it is not a regular file");
    return await readFile(file);
  } catch (error) {
    const missing = systemCodeOf(error) === "ENOENT";
    throw new CliError(missing ? `${name} does not exist` : `${name} cannot be read: ${messageOf(error)}`, {
      code: missing ? "config-missing" : "config-unreadable",
      hint: fileHint(error, hint),
      cause: error,
    });
  }
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The values of both; those of `nearer` win. */
function merge(base: unknown, nearer: unknown): unknown {
  if (nearer === undefined) return base;
  if (!isMapping(base) || !isMapping(nearer)) return nearer;
  const keys = new Set([...Object.keys(base), ...Object.keys(nearer)]);
  return Object.fromEntries(
    [...keys].map((key) => [
      key,
      merge(
        Object.hasOwn(base, key) ? base[key] : undefined,
        Object.hasOwn(nearer, key) ? nearer[key] : undefined,
      ),
    ]),
  );
}

/** The value of a base, with its paths relative to the folder of the config. */
function withPathsFrom({ path, value }: Layer, folder: string): unknown {
  const moved = (steps: readonly string[], part: unknown): unknown => {
    const [key, ...rest] = steps;
    if (key === undefined) {
      if (typeof part !== "string" || part === "" || isPostgresLocation(part)) return part;
      return relative(folder, resolve(dirname(path), part)) || ".";
    }
    if (!isMapping(part) || !Object.hasOwn(part, key)) return part;
    return { ...part, [key]: moved(rest, part[key]) };
  };
  return pathKeys.reduce((part, steps) => moved(steps, part), value);
}

function unshareable({ root, source }: Layer): readonly Diagnostic[] {
  return ownKeys.flatMap((key) => {
    const place = root.get(key);
    if (place === undefined) return [];
    const message = `\`${key}\` belongs to one workspace, and this file is extended by its config`;
    const hint = `Write ${key} in the draftsync.yaml of each workspace.`;
    return [source.diagnose({ code: "extends-own-key", message, hint, span: place.keySpan })];
  });
}

/** Each issue is about the nearest file that has the value. */
function explain(issues: readonly z.core.$ZodIssue[], layers: readonly Layer[]): readonly Diagnostic[] {
  const has = ({ root }: Layer, path: readonly PropertyKey[]) =>
    path.every((_step, index) => {
      const above = root.closest(path.slice(0, index));
      const step = path[index];
      return typeof step !== "symbol" && step !== undefined && above.get(step) !== undefined;
    });
  const [own] = layers;
  const split = withoutUnions(issues).flatMap((issue): z.core.$ZodIssue[] =>
    issue.code === "unrecognized_keys" ? issue.keys.map((key) => ({ ...issue, keys: [key] })) : [issue],
  );
  const pathOf = (issue: z.core.$ZodIssue) =>
    issue.code === "unrecognized_keys" ? [...issue.path, issue.keys[0] ?? ""] : issue.path;
  // What is missing everywhere may be misspelled in one of the files.
  const besides = ({ path }: z.core.$ZodIssue) =>
    split.find(
      (other) => other.code === "unrecognized_keys" && pathId(other.path) === pathId(path.slice(0, -1)),
    );
  const ownerOf = (issue: z.core.$ZodIssue) => {
    const other = besides(issue);
    return (
      layers.find((layer) => has(layer, pathOf(issue))) ??
      layers.find((layer) => other !== undefined && has(layer, pathOf(other))) ??
      own
    );
  };
  return layers.flatMap(({ content, root, source }, index) => {
    const about = split.filter((issue) => ownerOf(issue) === layers[index]);
    if (about.length === 0) return [];
    const found = explainIssues({ schema: configSchema, issues: about, content, root });
    return distinctIssues(found).map((each) => source.diagnose(each));
  });
}

/** An address of the service has no secret, unless it has a password. */
const harmless = /^\s*["']?base_url["']?:[^@]*$/;

/** What may be secret: an address from its host on, and the value of a key that is named like a secret. */
const secrets = [
  /(?<=:\/\/)[^\s'",\]}]+/g,
  /(?<=(?:\bkey|api[-_]?key|token|pass|pwd|secret|credential|authorization)\w*(?<!_file)["']?\s*:\s*)[^\s].*/gi,
];

/**
 * Errors of a config without the secrets in the lines that they show: a webhook address, a password in a database location, a key
 * that was pasted by mistake. Logs of pipelines have these errors.
 */
export function withMaskedSecrets(error: unknown): unknown {
  return error instanceof DiagnosticsError ? new DiagnosticsError(error.diagnostics.map(masked)) : error;
}

function masked(diagnostic: Diagnostic): Diagnostic {
  const { excerpt } = diagnostic;
  if (excerpt === undefined) return diagnostic;
  return { ...diagnostic, excerpt: excerpt.map((line) => ({ ...line, text: maskLine(line.text) })) };
}

/** As long as the line, so that marks stay in place. */
function maskLine(text: string): string {
  if (harmless.test(text)) return text;
  return secrets.reduce((line, secret) => line.replace(secret, (found) => "*".repeat(found.length)), text);
}
