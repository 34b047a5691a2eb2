import { isLoopback } from "./connections.ts";
import type { ServiceProfile } from "./profile.ts";
import type { UploadCredentials } from "./upload-documents.ts";

/** Where the bytes of uploads go, or why they do not. */
export type StorageLocation =
  | {
      readonly type: "allowed";
      /** Absent: AWS itself. */
      readonly endpoint?: string;
      readonly region: string;
      readonly bucket: string;
    }
  | { readonly type: "refused"; readonly problem: string; readonly hint: string };

/** What {@link locateStorage} goes by. */
export interface StorageRules {
  readonly settings: ServiceProfile["storage"];
  /** The service's own address. */
  readonly baseUrl: URL;
}

/**
 * Decides whether bytes may go where a response of the service says. A signed request must not reach another party, nor may a
 * file that is not published yet: so the host is one that the config names, AWS, or the service's
 * own, always over TLS; and nothing else in the credentials may turn into a part of a host.
 */
export function locateStorage(
  credentials: UploadCredentials,
  { settings, baseUrl }: StorageRules,
): StorageLocation {
  const { region, bucket } = credentials;
  if (!/^[a-z0-9-]{1,63}$/i.test(region)) return refuse(`${show(region)} is not a region`, wrongService);
  if (!/^[a-z0-9](?:[a-z0-9._-]{1,253}[a-z0-9])$/i.test(bucket) || bucket.includes("..")) {
    return refuse(`${show(bucket)} is not a bucket name`, wrongService);
  }
  if (settings.endpoint !== undefined) {
    return { type: "allowed", endpoint: settings.endpoint, region, bucket };
  }
  if (credentials.endpoint === undefined) return { type: "allowed", region, bucket };
  const url = new URL(credentials.endpoint);
  const local = isLoopback(baseUrl.hostname) && isLoopback(url.hostname);
  if (url.protocol !== "https:" && !local) {
    return refuse(`${url.origin} is not https`, nameIt(url));
  }
  if (local || url.host === baseUrl.host || isAws(url.hostname) || settings.hosts.includes(url.host)) {
    return { type: "allowed", endpoint: credentials.endpoint, region, bucket };
  }
  return refuse(`${url.origin} is neither AWS nor the service's own host`, nameIt(url));
}

const wrongService = "Check service.base_url: another server may respond there.";

function nameIt({ host }: URL): string {
  return `If the host is right, set service.profile.storage.hosts: [${host}]. It must use https.`;
}

function refuse(problem: string, hint: string): StorageLocation {
  return { type: "refused", problem, hint };
}

/** Its regions, and those in China (https://docs.aws.amazon.com/general/latest/gr/s3.html). */
function isAws(host: string): boolean {
  return /\.amazonaws\.com(\.cn)?$/.test(host);
}

function show(text: string): string {
  return JSON.stringify(text.slice(0, 80));
}
