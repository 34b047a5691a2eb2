import type { Arrival } from "../../src/sandbox/server.ts";

/**
 * Requests as they stood on the wire, one block each, for comparison with a written list. What differs from run to
 * run (ports, dates, signatures) is replaced by a word; storage requests keep their line only.
 */
export function formatWire(arrivals: readonly Arrival[]): string {
  return arrivals.map((arrival) => normalize(formatArrival(arrival))).join("\n");
}

function formatArrival({ method, path, query, headers, body, status, side }: Arrival): string {
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
