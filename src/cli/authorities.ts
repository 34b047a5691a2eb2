import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { messageOf } from "../model/errors.ts";
import { CliError } from "./cli-error.ts";

/** Reads the file that `service.ca_file` names: one or more certificates in PEM. Throws {@link CliError}. */
export async function loadAuthorities(file: string): Promise<string> {
  const hint =
    "Name a file with certificates in PEM in service.ca_file: -----BEGIN CERTIFICATE----- and so on.";
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    throw new CliError(`${file} cannot be read: ${messageOf(error)}`, {
      code: "ca-file-unreadable",
      hint,
      cause: error,
    });
  }
  const certificates = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  try {
    for (const certificate of certificates) new X509Certificate(certificate);
  } catch (error) {
    throw new CliError(`${file} holds a certificate that cannot be read: ${messageOf(error)}`, {
      code: "ca-file-invalid",
      hint,
      cause: error,
    });
  }
  if (certificates.length > 0) return text;
  throw new CliError(`${file} holds no certificate`, { code: "ca-file-invalid", hint });
}
