import { setImmediate as nextTurn } from "node:timers/promises";
import { isSegment } from "../model/address.ts";
import type { CallFailure, CallResult } from "../model/outcome.ts";
import type { AwaitOptions, CallBudget, ReadOptions, UploadList, UploadStatus } from "../model/ports.ts";
import { onAbort, wait } from "../model/wait.ts";
import type { Calls } from "./calls.ts";
import type { Executor } from "./executor.ts";
import { continuesWaiting, describeFailure } from "./failures.ts";
import type { ServiceOptions } from "./options.ts";
import type { ServiceProfile } from "./profile.ts";
import { maxAttempts } from "./retry-policy.ts";

type ReadPage = (
  uploadIds: readonly string[],
  /** `once`: without retries. */
  options: ReadOptions & { readonly once?: boolean },
) => Promise<CallResult<readonly UploadStatus[]>>;

/** The two ways to read uploads: pages of a list, and one by one. */
export interface UploadReader {
  /** Ids that fit into one call. */
  readonly pageSize: number;
  readOne(uploadId: string, options: ReadOptions): Promise<CallResult<UploadStatus>>;
  /** Reads one page, which may lack some; absent when the service has no such list. */
  readonly readPage: ReadPage | undefined;
  /** Reads page after page, and singly what the pages lack. */
  getUploads(uploadIds: readonly string[], options: ReadOptions): Promise<CallResult<UploadList>>;
}

/** Reads uploads by the settings of the profile. */
export function makeUploadReader(
  executor: Executor,
  { calls, profile }: { readonly calls: Calls; readonly profile: ServiceProfile },
): UploadReader {
  const isListed = profile.uploads_query !== null;
  const pageSize = isListed ? profile.uploads_page : 1;

  const readOne: UploadReader["readOne"] = async (uploadId, options) => {
    if (isSegment(uploadId)) return executor.execute(calls.getUpload(uploadId), options);
    const request = `GET /api/uploads/${uploadId}`;
    const failure = describeFailure({ code: "invalid-id", request, stops: "operation" });
    return { outcome: "not_sent", failure, attempts: 0 };
  };

  return {
    pageSize,
    readOne,
    readPage: isListed
      ? (uploadIds, options) => executor.execute(calls.getUploads(uploadIds), options)
      : undefined,
    async getUploads(uploadIds, options) {
      const ids = [...new Set(uploadIds)];
      const found = new Map<string, UploadStatus>();
      const missing: UploadList["missing"][number][] = [];
      let attempts = 0;
      for (let start = 0; isListed && start < ids.length; start += pageSize) {
        const page = await executor.execute(calls.getUploads(ids.slice(start, start + pageSize)), options);
        attempts += page.attempts;
        if (page.outcome !== "done") return { ...page, attempts };
        for (const upload of page.value) found.set(upload.uploadId, upload);
      }
      // A list that lacks an id is incomplete, and shows nothing about it.
      for (const uploadId of ids.filter((id) => !found.has(id))) {
        const single = await readOne(uploadId, options);
        attempts += single.attempts;
        if (single.outcome === "done") found.set(uploadId, single.value);
        else if (single.failure.stops === "run") return { ...single, attempts };
        else missing.push({ uploadId, failure: single.failure });
      }
      const uploads = ids.flatMap((id) => found.get(id) ?? []);
      return { outcome: "done", status: 200, value: { uploads, missing }, attempts };
    },
  };
}

type PollerOptions = Pick<ServiceOptions, "profile" | "clock" | "emit">;

interface Waiter {
  readonly uploadId: string;
  readonly deadline: number;
  readonly budget: CallBudget | undefined;
  readonly onPending: (() => void) | undefined;
  readonly settle: (result: CallResult<UploadStatus>) => void;
  dueAt: number;
  intervalMs: number;
  attempts: number;
  /** Requests that failed since the upload was last read. */
  failedAttempts: number;
  /** The last list lacked the id, which proves nothing: the upload is read singly. */
  isLacking: boolean;
  /** The status it had, or why it could not be read, the last time. */
  lastStatus: string;
  /** Only what was read is known to be late. */
  wasPending: boolean;
}

/** How long a read that is due waits for uploads that are being stored or registered, so that one call reads them all. */
const maxHoldMs = 30_000;
/** A held read is made at the latest so long before the deadline. */
const lastReadMs = 1_000;

/**
 * Waits for uploads to end, all waiters together in as few calls as possible: when one is due, its page is filled up
 * with those that are due next. A list that lacks an upload leaves it pending; three failed requests in a row end its wait.
 */
export class UploadPoller {
  readonly #reader: UploadReader;
  readonly #options: PollerOptions;
  readonly #waiters = new Set<Waiter>();
  #running = false;
  #closed = false;
  /** Uploads that are being stored or registered, and will be awaited soon. */
  #expected = 0;
  /** Wakes the loop: someone may be due sooner than it thinks. */
  #nudge = new AbortController();
  /** Ends the reads that no caller waits for. */
  #reading = new AbortController();

  constructor(reader: UploadReader, options: PollerOptions) {
    this.#reader = reader;
    this.#options = options;
  }

  /**
   * Ends `done` with an upload that is `success` or `failed`. Ends otherwise when it is still pending at its deadline
   * (`upload-timeout`), when it cannot be read (with that failure), when a failure stops the run, and when the budget has no
   * call left to read it (`call-budget-exhausted`).
   */
  wait(uploadId: string, options: AwaitOptions): Promise<CallResult<UploadStatus>> {
    const { signal, budget, onPending, registeredAgoMs: age = Number.NEGATIVE_INFINITY } = options;
    if (signal.aborted || this.#closed) return Promise.resolve(interrupted(uploadId, 0));
    return new Promise((resolve) => {
      const { profile, clock } = this.#options;
      const now = clock.monotonic();
      const intervalMs = Math.min(profile.upload_poll_min, profile.upload_poll_max);
      // Without an age, it is of this run.
      const waiter: Waiter = {
        uploadId,
        deadline: now + Math.min(profile.upload_deadline, profile.upload_deadline - age),
        budget,
        onPending,
        // A short run reads what an earlier one has registered.
        dueAt: now + Math.max(0, Math.min(intervalMs, intervalMs - age)),
        intervalMs,
        attempts: 0,
        failedAttempts: 0,
        isLacking: false,
        lastStatus: "",
        wasPending: false,
        settle: (result) => {
          this.#waiters.delete(waiter);
          leave();
          if (this.#waiters.size === 0) this.#reading.abort();
          this.#nudge.abort();
          resolve(result);
        },
      };
      const leave = onAbort(signal, () => waiter.settle(interrupted(uploadId, waiter.attempts)));
      this.#waiters.add(waiter);
      this.#nudge.abort();
      void this.#run();
    });
  }

  /** Announces an upload that will be awaited soon: reads that are not a full page wait for it. Call the result when it is. */
  expect(): () => void {
    let isExpected = true;
    this.#expected += 1;
    return () => {
      if (!isExpected) return;
      isExpected = false;
      this.#expected -= 1;
      this.#nudge.abort();
    };
  }

  /** Ends every wait as interrupted. */
  close(): void {
    this.#closed = true;
    for (const waiter of [...this.#waiters]) waiter.settle(interrupted(waiter.uploadId, waiter.attempts));
  }

  /** One loop for all waiters; it ends with the last of them. */
  async #run(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    // One request covers every upload that starts to wait in this turn of the event loop.
    await nextTurn();
    while (this.#waiters.size > 0) {
      const now = this.#options.clock.monotonic();
      const waiters = [...this.#waiters].sort((a, b) => a.dueAt - b.dueAt);
      const late = waiters.filter((waiter) => lateAt(waiter) <= now);
      const holdMs = this.#holdMs(waiters);
      const due = waiters.filter((waiter) => lateAt(waiter) > now && this.#readAt(waiter, holdMs) <= now);
      for (const waiter of late) waiter.settle(timedOut(waiter));
      if (due.length > 0) await this.#readDue(due, waiters);
      else if (late.length === 0) await this.#sleepUntilNext(now, { waiters, holdMs });
    }
    this.#running = false;
  }

  /** The last call of a run is none for a list, which may fail. */
  #isListed({ isLacking, budget }: Waiter): boolean {
    return this.#reader.readPage !== undefined && !isLacking && budget?.left !== 1;
  }

  #holdMs(waiters: readonly Waiter[]): number {
    const listed = waiters.filter((waiter) => this.#isListed(waiter)).length;
    return this.#expected > 0 && listed < this.#reader.pageSize ? maxHoldMs : 0;
  }

  #readAt(waiter: Waiter, holdMs: number): number {
    // At the latest with time left for the read.
    const latest = Math.max(waiter.dueAt, waiter.deadline - lastReadMs);
    return this.#isListed(waiter) ? Math.min(waiter.dueAt + holdMs, latest) : waiter.dueAt;
  }

  async #sleepUntilNext(
    now: number,
    { waiters, holdMs }: { readonly waiters: readonly Waiter[]; readonly holdMs: number },
  ): Promise<void> {
    const times = waiters.map((waiter) => Math.min(this.#readAt(waiter, holdMs), lateAt(waiter)));
    const ms = Math.ceil(Math.min(...times) - now);
    this.#nudge = new AbortController();
    this.#options.emit({ type: "waiting", at: this.#options.clock.now(), reason: "upload", ms });
    await wait(ms, this.#nudge.signal);
  }

  /** Reads all that are due, and fills their pages with those that are due next; only full pages while more are expected. */
  async #readDue(due: readonly Waiter[], waiters: readonly Waiter[]): Promise<void> {
    this.#reading = new AbortController();
    const { readPage, pageSize } = this.#reader;
    const dueInLists = due.filter((waiter) => this.#isListed(waiter));
    const isDue = new Set(due);
    const next = waiters.filter(
      (waiter) => !isDue.has(waiter) && this.#isListed(waiter) && this.#waiters.has(waiter),
    );
    const isHeld = this.#expected > 0 && dueInLists.length + next.length >= pageSize;
    const pages = Math.max(1, (isHeld ? Math.floor : Math.ceil)(dueInLists.length / pageSize));
    // Lists that fail must leave calls for the uploads that they lack, so that each run with a limit gets further.
    const { left = Number.POSITIVE_INFINITY } = this.#optionsFor(dueInLists).budget ?? {};
    const once = left <= pages * maxAttempts;
    const inLists =
      dueInLists.length === 0 ? [] : [...dueInLists, ...next].slice(0, (once ? 1 : pages) * pageSize);
    const reads: Promise<void>[] = due
      .filter((waiter) => !this.#isListed(waiter))
      .map((waiter) => this.#readOne(waiter));
    for (let start = 0; start < inLists.length && readPage !== undefined; start += pageSize) {
      reads.push(this.#readPage(inLists.slice(start, start + pageSize), readPage, once));
    }
    await Promise.all(reads);
  }

  async #readPage(page: readonly Waiter[], readPage: ReadPage, once: boolean): Promise<void> {
    const ids = [...new Set(page.map((waiter) => waiter.uploadId))];
    const result = await readPage(ids, { ...this.#optionsFor(page), once });
    const uploads = new Map(
      result.outcome === "done" ? result.value.map((upload) => [upload.uploadId, upload]) : [],
    );
    for (const waiter of page) {
      waiter.attempts += result.attempts;
      const upload = uploads.get(waiter.uploadId);
      if (result.outcome !== "done") this.#failed(waiter, result, once ? "only-list" : "list");
      else if (upload !== undefined) this.#received(waiter, upload, result.status);
      else this.#readSingly(waiter, "the list of uploads lacks it");
      // The next list may take the last call.
      if (once && waiter.isLacking) waiter.dueAt = this.#options.clock.monotonic();
    }
  }

  async #readOne(waiter: Waiter): Promise<void> {
    const result = await this.#reader.readOne(waiter.uploadId, this.#optionsFor([waiter]));
    waiter.attempts += result.attempts;
    if (result.outcome === "done") this.#received(waiter, result.value, result.status);
    else this.#failed(waiter, result, "one");
  }

  /** One call takes from one budget: that of the first waiter who has one. */
  #optionsFor(waiters: readonly Waiter[]): ReadOptions {
    return {
      signal: this.#reading.signal,
      budget: waiters.find(({ budget }) => budget !== undefined)?.budget,
    };
  }

  #received(waiter: Waiter, upload: UploadStatus, status: number): void {
    waiter.failedAttempts = 0;
    if (upload.status !== "pending") {
      waiter.settle({ outcome: "done", status, value: upload, attempts: waiter.attempts });
      return;
    }
    waiter.lastStatus = describeStatus(upload);
    waiter.wasPending = true;
    waiter.onPending?.();
    this.#reschedule(waiter);
  }

  #failed(waiter: Waiter, result: FailedRead, from: "list" | "only-list" | "one"): void {
    const { code, message, stops } = result.failure;
    const refused = (result.outcome === "rejected" && code !== "rate-limited") || code === "invalid-id";
    if (stops === "run" || code === "call-budget-exhausted" || (from === "one" && refused)) {
      waiter.settle({ ...result, attempts: waiter.attempts });
      return;
    }
    waiter.lastStatus = message;
    if (!refused) waiter.failedAttempts += result.attempts;
    const isOver = waiter.failedAttempts >= maxAttempts || from === "only-list";
    // A service that fails with the list may still return the upload itself: another one may be the cause.
    if (refused || (isOver && from !== "one" && code !== "rate-limited")) this.#readSingly(waiter, message);
    else if (waiter.failedAttempts < maxAttempts) this.#reschedule(waiter);
    else waiter.settle({ ...result, failure: continuesWaiting(result.failure), attempts: waiter.attempts });
  }

  #readSingly(waiter: Waiter, lastStatus: string): void {
    waiter.lastStatus = lastStatus;
    waiter.failedAttempts = 0;
    waiter.isLacking = true;
    this.#reschedule(waiter);
  }

  #reschedule(waiter: Waiter): void {
    waiter.intervalMs = Math.min(waiter.intervalMs * 2, this.#options.profile.upload_poll_max);
    waiter.dueAt = this.#options.clock.monotonic() + waiter.intervalMs;
  }
}

/** When its wait ends. */
function lateAt({ deadline, wasPending }: Waiter): number {
  return wasPending ? deadline : Number.POSITIVE_INFINITY;
}

function describeStatus({ rawStatus }: UploadStatus): string {
  if (rawStatus === "") return "it has no status";
  return rawStatus === "success" ? "it is success, without a file_id" : `it is ${rawStatus}`;
}

type FailedRead = Extract<CallResult<unknown>, { readonly failure: CallFailure }>;

function interrupted(uploadId: string, attempts: number): CallResult<UploadStatus> {
  const request = `GET /api/uploads/${uploadId}`;
  const failure = describeFailure({ code: "aborted", request, stops: "run" });
  return { outcome: "not_sent", failure, attempts };
}

function timedOut({ uploadId, attempts, lastStatus: detail }: Waiter): CallResult<UploadStatus> {
  const request = `GET /api/uploads/${uploadId}`;
  const failure = describeFailure({ code: "upload-timeout", request, stops: "operation", detail });
  return { outcome: "unknown", failure, attempts };
}
