import { createHash } from "node:crypto";
import type { Fault, Passing } from "./faulty-proxy.ts";

/** Answers the registration of an upload as one that has ended with a file, and no other request. Its id has the key: `u-KEY`. */
export function answerRegistration(
  { method, path, body }: Passing,
  fileOf: (uploadKey: string) => number,
): Fault | undefined {
  if (method !== "POST" || path !== "/api/uploads") return undefined;
  const { upload_key } = JSON.parse(body).data.attributes;
  const attributes = { upload_key, status: "success", file_id: fileOf(upload_key) };
  const data = { id: `u-${upload_key}`, type: "upload", attributes };
  const headers = { "content-type": "application/vnd.api+json" };
  return { type: "answer", status: 201, headers, body: JSON.stringify({ data }) };
}

/** Answers each read of an upload as one in processing, and no other request. A list lacks all, which says nothing about them. */
export function answerProcessing({ method, path }: Passing): Fault | undefined {
  if (method !== "GET" || !path.startsWith("/api/uploads")) return undefined;
  const id = /^\/api\/uploads\/([^/?]+)$/.exec(path)?.[1];
  const data = id === undefined ? [] : { type: "upload", id, attributes: { status: "processing" } };
  const headers = { "content-type": "application/vnd.api+json" };
  return { type: "answer", status: 200, headers, body: JSON.stringify({ data }) };
}

/** The file of a service that has one for each of these contents, numbered from `first`: a key names the digest of its object. */
export function fileOfContent(contents: readonly string[], first: number): (uploadKey: string) => number {
  const digests = contents.map((content) => createHash("sha256").update(content).digest("hex"));
  return (uploadKey) => first + digests.findIndex((digest) => uploadKey.includes(digest));
}
