/** The queue of a fleet: at most one entry a workspace, which waits until it is due or is being worked on. */
export interface FleetQueue {
  /** Has a workspace come up in so many milliseconds; one that waits or is worked on stays as it is. */
  add(name: string, inMs: number): Promise<void>;
  /** Has a workspace that waits come up now. */
  hurry(name: string): Promise<void>;
  remove(name: string): Promise<void>;
  /** The workspaces that wait or are worked on. */
  names(): Promise<ReadonlySet<string>>;
  /**
   * Works on what comes up, `slots` at a time. `run` returns when the workspace shall come up again, in milliseconds from
   * then, or `undefined` when it shall not. If the process dies, another one works on the entry within 15 s.
   */
  work(work: QueueWork): QueueWorker;
  close(): Promise<void>;
}

/** Arguments of {@link FleetQueue.work}. */
export interface QueueWork {
  readonly slots: number;
  run(name: string): Promise<number | undefined>;
  /** Whether a workspace that was just put back is due already, by a request that found its entry at work. */
  isDue(name: string): Promise<boolean>;
  /** What goes wrong in the queue itself; it goes on by itself. */
  onError(error: Error): void;
}

/** A worker of the queue. */
export interface QueueWorker {
  /** Takes nothing more; resolves once nothing is worked on. */
  stop(): Promise<void>;
}
