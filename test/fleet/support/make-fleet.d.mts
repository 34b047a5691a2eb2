/** Options of {@link makeFleet}. */
export interface FleetOptions {
  readonly folder: string;
  /** URL of the sandbox with one account for each workspace. */
  readonly url: string;
  /** Location of the database without a schema. */
  readonly databaseUrl: string;
  readonly names: readonly string[];
  /** Distinguishes the schemas of several fleets in one database. */
  readonly prefix?: string;
  readonly every?: string;
  readonly files?: number;
  /** Lines that are added to fleet.yaml. */
  readonly more?: string;
  /** Account number of each workspace; default: each has its own. */
  readonly accountOf?: (index: number) => number;
}

export const key: string;
/** Writes `fleet.yaml` and a workspace for each name, each with its ledger in a schema of the database. */
export function makeFleet(options: FleetOptions): Promise<void>;
/** The manifest of a workspace. */
export function manifestOf(index: number, files: number, description?: string): string;
