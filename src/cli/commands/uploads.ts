import { realpath } from "node:fs/promises";
import { relative, resolve, sep } from "node:path";
import stringWidth from "fast-string-width";
import { holdersOf, makeUploadClaim } from "../../apply/claims.ts";
import { registrationEffects } from "../../apply/uploads.ts";
import { hashFile } from "../../manifest/hash-file.ts";
import { messageOf } from "../../model/errors.ts";
import type { UploadList, UploadStatus } from "../../model/ports.ts";
import { isoTime } from "../../model/time.ts";
import { uploadEndEffects } from "../../model/upload-name.ts";
import { sanitizeLine } from "../../report/sanitize-text.ts";
import type { UploadCredentials } from "../../service/documents.ts";
import { makeRedactor } from "../../service/redact.ts";
import type { Cli, DefineCommand, WorkspaceFlags, WriterFlags } from "../cli.ts";
import { examples, withFormat, withWorkspaceFlags, withWriterFlags } from "../cli.ts";
import { CliError } from "../runtime/cli-error.ts";
import { exitCode } from "../runtime/exit-code.ts";
import { expectDone, singleCall, singleWrite } from "../runtime/single-call.ts";
import type { Workspace } from "../runtime/workspace.ts";
import { printJson } from "../terminal/print-json.ts";
import { reportError } from "../terminal/report-error.ts";

interface ListFlags extends WorkspaceFlags {
  readonly json?: boolean;
}

interface CreateFlags extends WriterFlags {
  readonly key?: string;
  readonly wait?: boolean;
}

/** `draftsync uploads credentials|create|get|list` */
export const defineUploads: DefineCommand = (program, cli) => {
  const uploads = program
    .command("uploads")
    .summary("manage uploads directly")
    .description("Single API calls for uploads.");
  withWorkspaceFlags(uploads.command("credentials"))
    .summary("request storage credentials")
    .description("Requests credentials for the object storage. Hides secrets unless --show-secrets is given.")
    .option("--show-secrets", "print the secret key and the session token too")
    .addHelpText("after", examples("draftsync uploads credentials"))
    .action((flags: WorkspaceFlags & { showSecrets?: boolean }) => runCredentials(cli, flags));
  withWriterFlags(uploads.command("create"))
    .summary("upload a file, or register a stored object")
    .description(
      "Uploads a local file to the object storage and registers it, or registers an object that is stored already.",
    )
    .argument("[file]", "local file inside the workspace")
    .option("--key <upload_key>", "register this object instead of a local file")
    .option("--wait", "wait until the service has processed it")
    .addHelpText(
      "after",
      examples(
        "draftsync uploads create files/dragon.glb --wait",
        "draftsync uploads create --key incoming/turntable.mp4",
      ),
    )
    .action((file: string | undefined, flags: CreateFlags) => runCreate(cli, file, flags));
  withWorkspaceFlags(uploads.command("get"))
    .summary("read one upload")
    .description("Reads an upload: its key, its status, and the id of its file once it is processed.")
    .argument("<id>", "upload id")
    .addHelpText("after", examples("draftsync uploads get up_17"))
    .action((id: string, flags: WorkspaceFlags) => runGet(cli, id, flags));
  withFormat(withWorkspaceFlags(uploads.command("list")))
    .summary("read several uploads")
    .description("Reads several uploads per call: the status of each, and the id of its file.")
    .argument("[ids...]", "upload ids (default: those in the ledger)")
    .addHelpText("after", examples("draftsync uploads list", "draftsync uploads list up_17 up_18"))
    .action((ids: string[], flags: ListFlags) => runList(cli, ids, flags));
};

function uploadJson({ uploadId, uploadKey, rawStatus, message, fileId }: UploadStatus) {
  return { upload_id: uploadId, upload_key: uploadKey, status: rawStatus, message, file_id: fileId };
}

/** Secrets only when they were asked for; times as everywhere, ISO 8601. */
function credentialsJson(credentials: UploadCredentials, showsSecrets: boolean) {
  const { keyPrefix, bucket, region, accessKey, secretKey, sessionToken, expiresAt, endpoint } = credentials;
  const redactor = makeRedactor(secretKey);
  redactor.add(sessionToken ?? "");
  // A service may repeat a secret in another field, such as an endpoint with credentials.
  const shown = (text: string) => (showsSecrets ? text : redactor.text(text));
  return {
    key_prefix: shown(keyPrefix),
    bucket: shown(bucket),
    region: shown(region),
    access_key: shown(accessKey),
    secret_key: showsSecrets ? secretKey : "(hidden)",
    session_token: showsSecrets || sessionToken === undefined ? sessionToken : "(hidden)",
    expiration: expiresAt === undefined ? undefined : isoTime(expiresAt),
    endpoint: endpoint === undefined ? undefined : shown(endpoint),
  };
}

async function runCredentials(cli: Cli, flags: WorkspaceFlags & { showSecrets?: boolean }): Promise<void> {
  await singleCall(cli, flags, async ({ service }) => {
    const credentials = expectDone(await service.credentials(cli.signal));
    printJson(cli, credentialsJson(credentials, flags.showSecrets ?? false));
  });
}

async function runCreate(cli: Cli, file: string | undefined, flags: CreateFlags): Promise<void> {
  if ((file === undefined) === (flags.key === undefined)) {
    throw new CliError("uploads create needs either a file or --key", {
      code: "invalid-flag",
      hint: "`draftsync uploads create --help` has examples of both.",
    });
  }
  await singleWrite(cli, { flags, command: "uploads create" }, async ({ workspace, service, write }) => {
    const local = file === undefined ? undefined : await localFile(cli, workspace.config.root, file);
    const key =
      flags.key ??
      (local === undefined
        ? ""
        : expectDone(await service.storage.put(local, { signal: cli.signal })).uploadKey);
    const ledger = await workspace.ledger();
    const at = await ledger.now();
    const claim = makeUploadClaim({ key, sha256: local?.sha256 }, holdersOf(await ledger.load()));
    const upload = await write({
      address: local === undefined ? `uploads/upload_key:${key}` : `uploads/${local.source}`,
      kind: "upload",
      intent: { uploadKey: key },
      call: (options) => service.createUpload(key, { ...options, claim }),
      effects: (answer) =>
        answer.outcome === "done" ? registrationEffects(answer.value, { key, content: local ?? {}, at }) : [],
    });
    if (!flags.wait) return printJson(cli, uploadJson(upload));
    const awaited = await service.awaitUpload(upload.uploadId, { signal: cli.signal });
    const hint = `It is registered: \`draftsync uploads get ${upload.uploadId}\` shows its status. This command would register it again.`;
    const ended = expectDone(awaited, ({ message }) => ({ message, hint }));
    await (await workspace.ledger()).record(uploadEndEffects(ended));
    printJson(cli, uploadJson(ended));
    if (ended.status === "failed") cli.end(exitCode.failed);
  });
}

async function localFile(cli: Cli, root: string, file: string) {
  try {
    const path = await realpath(resolve(cli.cwd, file));
    const source = relative(await realpath(root), path)
      .split(sep)
      .join("/");
    return { source, ...(await hashFile(path)) };
  } catch (error) {
    throw new CliError(`${file} cannot be read: ${messageOf(error)}`, {
      code: "source-unreadable",
      hint: "Name a regular file inside the folder of draftsync.yaml.",
      cause: error,
    });
  }
}

async function runGet(cli: Cli, id: string, flags: WorkspaceFlags): Promise<void> {
  await singleCall(cli, flags, async ({ service }) =>
    printJson(cli, uploadJson(expectDone(await service.getUpload(id, cli.signal)))),
  );
}

async function runList(cli: Cli, ids: readonly string[], flags: ListFlags): Promise<void> {
  await singleCall(cli, flags, async ({ workspace, service }) => {
    const known = ids.length > 0 ? ids : await recordedIds(workspace);
    if (known.length === 0) {
      if (flags.json) printJson(cli, []);
      else cli.terminal.err("The ledger has no uploads.\n");
      return;
    }
    const { uploads, missing } = expectDone(await service.getUploads(known, cli.signal));
    if (flags.json) printJson(cli, uploads.map(uploadJson));
    else cli.terminal.out(formatUploads(uploads));
    if (missing.length === 0) return;
    reportError(missingUploads(missing, known.length), cli.terminal);
    cli.end(uploads.length > 0 ? exitCode.failed : exitCode.error);
  });
}

/** One line an upload, in columns. */
function formatUploads(uploads: readonly UploadStatus[]): string {
  const rows = uploads.map(({ uploadId, rawStatus, fileId, uploadKey = "", message }) => [
    uploadId,
    rawStatus,
    fileId === undefined ? "" : `file ${fileId}`,
    [uploadKey, message ?? ""].filter((text) => text !== "").join(": "),
  ]);
  const clean = rows.map((cells) => cells.map((cell) => sanitizeLine(cell)));
  const widths = [0, 1, 2].map((column) =>
    Math.max(...clean.map((cells) => stringWidth(cells[column] ?? ""))),
  );
  const lines = clean.map((cells) =>
    cells
      .map((cell, column) => cell + " ".repeat(Math.max(0, (widths[column] ?? 0) - stringWidth(cell))))
      .join("  "),
  );
  return lines.map((line) => `${line.trimEnd()}\n`).join("");
}

const maxNamedUploads = 10;

function missingUploads(missing: UploadList["missing"], asked: number): CliError {
  const names = missing.slice(0, maxNamedUploads).map(({ uploadId }) => uploadId);
  const more = missing.length > names.length ? ` and ${missing.length - names.length} more` : "";
  const of = asked === 1 ? "upload" : `${missing.length} of ${asked} uploads`;
  return new CliError(`the service does not return ${of}: ${names.join(", ")}${more}`, {
    code: "uploads-missing",
    hint: missing[0]?.failure.message ?? "",
  });
}

async function recordedIds(workspace: Workspace): Promise<readonly string[]> {
  const { uploads } = await (await workspace.reader()).load();
  return uploads.map(({ uploadId }) => uploadId);
}
