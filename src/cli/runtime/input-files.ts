import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { z } from "zod";
import { readYaml, type YamlDocument } from "../../manifest/read-yaml.ts";
import type { SourceText } from "../../manifest/source-text.ts";
import { fileHint, messageOf } from "../../model/errors.ts";
import type { ServiceConfig } from "../config.ts";
import { CliError, DiagnosticsError } from "./cli-error.ts";

/** What is said when a file that the user named cannot be read. */
interface UnreadableFile {
  /** The beginning of the sentence: "the saved plan". */
  readonly what: string;
  readonly code: string;
  readonly hint: string;
}

/** Reads a file that the user named; `path` is absolute. Throws {@link CliError} when it cannot be read. */
export async function readGiven(path: string, { what, code, hint }: UnreadableFile): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (error) {
    throw new CliError(`${what} cannot be read: ${messageOf(error)}`, {
      code,
      hint: fileHint(error, hint),
      cause: error,
    });
  }
}

/** A file of settings; `source` is for more diagnostics about it. */
interface Settings<T> extends YamlDocument<T> {
  readonly source: SourceText;
}

/**
 * Parses a YAML file of one document; `file` is for messages. `root` has the places of its values. Throws
 * {@link DiagnosticsError} with every mistake.
 */
export function parseSettings<T>(given: {
  readonly file: string;
  readonly bytes: Uint8Array;
  readonly schema: z.ZodType<T>;
}): Settings<T> {
  const read = readYaml({ ...given, documents: "one", isLittle: true });
  if (!read.ok) throw new DiagnosticsError(read.errors);
  const [document] = read.documents;
  if (document === undefined) throw new Error("a file of one document has one");
  return { ...document, source: read.source };
}

/** The key of the embedded sandbox: it guards nothing. */
export const sandboxKey = "sandbox-key";

/**
 * The API key: `DRAFTSYNC_API_KEY`, or the file that the config names. Never from YAML or the command line, where
 * others could read it. Throws {@link CliError} `api-key-missing` or `api-key-file`.
 */
export async function loadApiKey({ apiKeyFile }: ServiceConfig, env: NodeJS.ProcessEnv): Promise<string> {
  const key =
    env.DRAFTSYNC_API_KEY?.trim() || (apiKeyFile === undefined ? "" : await readKeyFile(apiKeyFile));
  if (key !== "") return key;
  throw new CliError(
    apiKeyFile === undefined
      ? "no API key: DRAFTSYNC_API_KEY is not set"
      : `no API key: ${apiKeyFile} is empty`,
    {
      code: "api-key-missing",
      hint: "Set DRAFTSYNC_API_KEY, or set service.api_key_file to a file that contains the key.",
    },
  );
}

async function readKeyFile(file: string): Promise<string> {
  const bytes = await readGiven(file, {
    what: "the API key file",
    code: "api-key-file",
    hint: "Check service.api_key_file, or set DRAFTSYNC_API_KEY instead.",
  });
  return bytes.toString("utf8").trim();
}

/** Reads the file that `service.ca_file` names: one or more certificates in PEM. Throws {@link CliError}. */
export async function loadAuthorities(file: string): Promise<string> {
  const hint =
    "Name a file with certificates in PEM in service.ca_file: -----BEGIN CERTIFICATE----- and so on.";
  const bytes = await readGiven(file, { what: file, code: "ca-file-unreadable", hint });
  const text = bytes.toString("utf8");
  const certificates = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  try {
    for (const certificate of certificates) new X509Certificate(certificate);
  } catch (error) {
    throw new CliError(`${file} contains an invalid certificate: ${messageOf(error)}`, {
      code: "ca-file-invalid",
      hint,
      cause: error,
    });
  }
  if (certificates.length > 0) return text;
  throw new CliError(`${file} contains no certificate`, { code: "ca-file-invalid", hint });
}
