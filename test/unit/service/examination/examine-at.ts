import type { Check } from "../../../../src/model/examination.ts";
import type { Attributes, FileTarget } from "../../../../src/model/resource.ts";
import { type Looks, openExaminer } from "../../../../src/service/examination/examiner.ts";
import { judgeLooks } from "../../../../src/service/examination/judge-looks.ts";
import { judgeProbes } from "../../../../src/service/examination/judge-probes.ts";
import type { ProbeStep } from "../../../../src/service/examination/probe-steps.ts";
import { nextProbe } from "../../../../src/service/examination/probe-steps.ts";
import type { ServiceOptions } from "../../../../src/service/options.ts";
import { closeAfterTest, noSignal, optionsFor, target, write } from "../support/harness.ts";
import type { RawServer, RecordedRequest, Reply } from "../support/raw-server.ts";
import { startRawServer } from "../support/raw-server.ts";

type Overrides = Parameters<typeof optionsFor>[1];

/** What examining a service came to. */
export interface ExaminedAt {
  readonly checks: readonly Check[];
  /** `status code` of each check by its name. */
  readonly found: Readonly<Record<string, string>>;
  /** The settings that were proposed, by path. */
  readonly settings: Readonly<Record<string, unknown>>;
  readonly looks?: Looks;
}

function summarize(checks: readonly Check[]): Omit<ExaminedAt, "looks"> {
  return {
    checks,
    found: Object.fromEntries(checks.map(({ name, status, finding }) => [name, `${status} ${finding.code}`])),
    settings: Object.fromEntries(
      checks.flatMap(({ setting }) =>
        setting === undefined ? [] : [[setting.path.join("."), setting.value]],
      ),
    ),
  };
}

/** Starts a server and looks at it. */
export async function lookAt(
  reply: (request: RecordedRequest, index: number) => Reply,
  overrides: Overrides = {},
): Promise<ExaminedAt & { readonly server: RawServer }> {
  const server = await startRawServer(reply);
  closeAfterTest(() => server.close());
  return { ...(await lookThere(server.url, overrides)), server };
}

/** Looks at whatever is at an address. */
export async function lookThere(baseUrl: string, overrides: Overrides = {}): Promise<ExaminedAt> {
  const options = optionsFor(baseUrl, { rate: { limit: 10, windowMs: 1000 }, ...overrides });
  const examiner = open(options);
  const looks = await examiner.look(noSignal());
  const { rate, concurrency, profile } = options;
  const settings = { baseUrl, rate, concurrency, contentType: profile.content_type, now: Date.now() };
  return { ...summarize(judgeLooks(looks, settings)), looks };
}

/** Starts a server and probes the file there, as far as it may be. */
export async function probeAt(
  reply: (request: RecordedRequest, index: number) => Reply,
  recorded: Attributes = {},
  about: FileTarget = target,
): Promise<ExaminedAt & { readonly server: RawServer }> {
  const server = await startRawServer(reply);
  closeAfterTest(() => server.close());
  const examiner = open(optionsFor(server.url));
  const known = { kind: about.kind, recorded };
  const steps: ProbeStep[] = [];
  for (let method = nextProbe(steps, known); method !== undefined; method = nextProbe(steps, known)) {
    steps.push((await examiner.probe(about, method, write())).step);
  }
  const isRecorded = Object.keys(recorded).length > 0;
  const type = about.kind === "product_files" ? "product_file" : "promotional_file";
  const probed = { ...known, target: about, isRecorded, wantedType: type, typeSetting: type };
  return { ...summarize(judgeProbes(steps, probed)), server };
}

function open(options: ServiceOptions) {
  const examiner = openExaminer(options);
  closeAfterTest(() => examiner.close());
  return examiner;
}
