import type { Check, Probe } from "../../../src/doctor/check.ts";
import { checkFile, nextProbe } from "../../../src/doctor/check-file.ts";
import { checkService } from "../../../src/doctor/check-service.ts";
import { openDoctorClient } from "../../../src/doctor/client.ts";
import type { Attributes } from "../../../src/model/resource.ts";
import type { ServiceOptions } from "../../../src/service/options.ts";
import { closeAfterTest, noSignal, optionsFor, target, write } from "../service/support/harness.ts";
import type { RawServer, RecordedRequest, Reply } from "../service/support/raw-server.ts";
import { startRawServer } from "../service/support/raw-server.ts";

type Overrides = Parameters<typeof optionsFor>[1];

/** The checks of a service. */
export interface CheckedAt {
  readonly checks: readonly Check[];
  /** `status code` of each check by its name. */
  readonly found: Readonly<Record<string, string>>;
  /** The suggested settings, by path. */
  readonly settings: Readonly<Record<string, unknown>>;
}

function summarize(checks: readonly Check[]): CheckedAt {
  return {
    checks,
    found: Object.fromEntries(checks.map(({ name, status, code }) => [name, `${status} ${code}`])),
    settings: Object.fromEntries(
      checks.flatMap(({ setting }) =>
        setting === undefined ? [] : [[setting.path.join("."), setting.value]],
      ),
    ),
  };
}

/** Starts a server and checks it. */
export async function checkServer(
  reply: (request: RecordedRequest, index: number) => Reply,
  overrides: Overrides = {},
): Promise<CheckedAt & { readonly server: RawServer }> {
  const server = await startRawServer(reply);
  closeAfterTest(() => server.close());
  return { ...(await checkUrl(server.url, overrides)), server };
}

/** Checks the service at an address. */
export async function checkUrl(baseUrl: string, overrides: Overrides = {}): Promise<CheckedAt> {
  const options = optionsFor(baseUrl, { rate: { limit: 10, windowMs: 1000 }, ...overrides });
  const samples = await open(options).sample(noSignal());
  const { rate, concurrency, profile } = options;
  const settings = { baseUrl, rate, concurrency, contentType: profile.content_type, now: Date.now() };
  return summarize(checkService(samples, settings));
}

/** Starts a server and probes a file there. */
export async function probeServer(
  reply: (request: RecordedRequest, index: number) => Reply,
  recorded?: Attributes,
): Promise<CheckedAt & { readonly server: RawServer }> {
  const server = await startRawServer(reply);
  closeAfterTest(() => server.close());
  const client = open(optionsFor(server.url));
  const probes: Probe[] = [];
  for (let method = nextProbe(probes, recorded); method !== undefined; method = nextProbe(probes, recorded)) {
    probes.push((await client.probe(target, method, write())).probe);
  }
  const type = target.kind === "product_files" ? "product_file" : "promotional_file";
  return { ...summarize(checkFile(probes, { target, recorded, type })), server };
}

function open(options: ServiceOptions) {
  const client = openDoctorClient(options);
  closeAfterTest(() => client.close());
  return client;
}
