import type { Diagnostic } from "../model/diagnostic.ts";
import { DiagnosticsError } from "./runtime/cli-error.ts";

/** An address of the service has no secret, unless it has a password. */
const harmless = /^\s*["']?base_url["']?:[^@]*$/;

/** What may be secret: an address from its host on, and the value of a key that is named like a secret. */
const secrets = [
  /(?<=:\/\/)[^\s'",\]}]+/g,
  /(?<=(?:api_?key|token|passw|secret)\w*(?<!_file)["']?:\s*)[^\s].*/gi,
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
