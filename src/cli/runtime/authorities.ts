import { X509Certificate } from "node:crypto";
import { messageOf } from "../../model/errors.ts";
import { CliError } from "./cli-error.ts";
import { readGiven } from "./read-input-file.ts";

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
