import type { Desired } from "../../../src/model/desired.ts";
import type { Observed } from "../../../src/model/observed.ts";
import type { Clock } from "../../../src/model/ports.ts";
import type { Recorded } from "../../../src/model/recorded.ts";
import { makeFileIdFinder } from "../../../src/plan/recorded-index.ts";
import { observe } from "../../../src/refresh/observe.ts";
import { assembleService } from "../../../src/service/open-service.ts";
import { serviceProfileSchema } from "../../../src/service/profile.ts";

export const apiKey = "canary-key-5e11";
export const rate = { limit: 1000, windowMs: 5 };
export const profile = serviceProfileSchema.parse({
  upload_poll_min: "1ms",
  upload_poll_max: "2ms",
});

/** How a process of the model reaches the service. */
export interface Connection {
  readonly url: string;
  /** Folder of the sources. */
  readonly root: string;
  readonly concurrency: number;
  readonly settleDelayMs: number;
  readonly clock: Clock;
}

export function connect({ url, root, concurrency, settleDelayMs, clock }: Connection) {
  return assembleService(
    {
      baseUrl: url,
      apiKey,
      rate,
      concurrency,
      timeoutMs: 20_000,
      profile: { ...profile, settle_delay: settleDelayMs },
      clock,
      emit: () => {},
      root,
    },
    { random: () => 0, hasResponded: false },
  );
}

/** Probes every file, and reads every product and upload. */
export async function observeAll(
  connection: Connection,
  { desired, recorded }: { desired: Desired; recorded: Recorded },
): Promise<Observed> {
  const service = connect(connection);
  try {
    const { observed } = await observe({
      desired,
      recorded,
      policy: { mode: "full", attachments: "probe", maxCalls: Infinity, maxAgeMs: 0 },
      reader: service,
      fileIdOf: makeFileIdFinder(recorded),
      settleDelayMs: connection.settleDelayMs,
      concurrency: connection.concurrency,
      clock: connection.clock,
      emit: () => {},
      signal: new AbortController().signal,
    });
    return observed;
  } finally {
    await service.close();
  }
}
