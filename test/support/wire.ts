import { z } from "zod";
import type { RequestLogEntry } from "../../src/sandbox/server.ts";

/**
 * Requests as sent, one block each, for comparison with a golden file. Values that differ from run to
 * run (ports, dates, signatures) are replaced by a word; storage requests keep only their line. Requests of one subject
 * are grouped in their order of arrival; there is no order between subjects, which are handled concurrently.
 */
export function formatWire(arrivals: readonly RequestLogEntry[]): string {
  const subjects = new Map<string, string[]>();
  for (const arrival of arrivals) {
    const subject = subjectOf(arrival);
    const blocks = subjects.get(subject) ?? [];
    blocks.push(normalize(formatArrival(arrival)));
    subjects.set(subject, blocks);
  }
  return [...subjects]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([subject, blocks]) => `# ${subject}\n\n${blocks.join("\n")}`)
    .join("\n");
}

const UploadBody = z.object({ data: z.object({ attributes: z.object({ upload_key: z.string() }) }) });
const ProductBody = z.object({
  data: z.object({ relationships: z.object({ draft: z.object({ data: z.object({ id: z.string() }) }) }) }),
});

/** The subject: a draft, a duplicated product, an object that was in storage before, or the sources. */
function subjectOf({ path, body }: RequestLogEntry): string {
  const [, draft] = /^\/api\/drafts\/(\d+)\//.exec(path) ?? [];
  if (draft !== undefined) return `draft ${draft}`;
  if (path === "/api/products") return `draft ${ProductBody.parse(body).data.relationships.draft.data.id}`;
  if (path.startsWith("/api/products/")) return `product ${path.split("/")[3]}`;
  const key = UploadBody.safeParse(body).data?.data.attributes.upload_key;
  return key === undefined || key.startsWith("uploads/") ? "sources" : key;
}

function formatArrival({ method, path, query, headers, body, status, side }: RequestLogEntry): string {
  const search = Object.entries(query).map(([name, value]) => `${name}=${String(value)}`);
  const line = `${method} ${path}${search.length === 0 ? "" : `?${search.join("&")}`}`;
  if (side === "storage") return `${line}  (storage)\n-> ${status}\n`;
  const lines = Object.entries(headers)
    .map(([name, value]) => `${name}: ${String(value)}`)
    .sort();
  const text = body === null ? "" : `\n${JSON.stringify(body, null, 2)}\n`;
  return `${line}\n${lines.join("\n")}\n${text}-> ${status}\n`;
}

function normalize(text: string): string {
  return text
    .replace(/uploads\/[0-9a-f]{12}\//g, "uploads/SESSION/")
    .replace(/127\.0\.0\.1:\d+/g, "HOST")
    .replace(/draftsync\/\d+\.\d+\.\d+/g, "draftsync/VERSION");
}
