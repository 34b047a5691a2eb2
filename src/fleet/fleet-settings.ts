import type { RateBound } from "../model/rate.ts";

/** A fleet as `fleet.yaml` declares it; times in milliseconds, paths absolute. */
export interface FleetSettings {
  /** The folder of `fleet.yaml`, to which the configs of the workspaces are relative. */
  readonly root: string;
  /** `postgres://…`; may hold a password. */
  readonly database: string;
  /** Where workspaces with one of the keys share its rate reservations, as `database`. */
  readonly rates: string;
  readonly everyMs: number;
  /** Runs at a time of one worker. */
  readonly slots: number;
  /** After which a run is ended. */
  readonly deadlineMs: number;
  /** Of the heap of a run, megabytes. */
  readonly memoryMb: number;
  readonly keys: ReadonlyMap<string, FleetKey>;
}

/** An API key that several workspaces share. */
export interface FleetKey {
  readonly file: string;
  readonly rate: RateBound | undefined;
}

/** A workspace as `fleet.yaml` declares it. */
export interface DeclaredWorkspace {
  readonly name: string;
  /** Its `draftsync.yaml`, relative to the folder of `fleet.yaml`. */
  readonly config: string;
  readonly everyMs: number;
  /** One of the keys; `undefined`: its own config has one. */
  readonly key: string | undefined;
  /** `undefined`: as `fleet pause` and `fleet resume` left it. */
  readonly paused: boolean | undefined;
}
