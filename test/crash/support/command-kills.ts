import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { applyUntil, binary, startApply } from "./binary.ts";
import type { CrashWorld } from "./crash-world.ts";
import type { BytePoint } from "./kill-proxy.ts";
import { survive, type Verdict } from "./survive.ts";

/** `before:7` is directly before the seventh commit of the ledger. */
export type CommitPoint = `${"before" | "during" | "after"}:${number}`;

/** The commits, chunks on the wire and operations of an apply without a kill. */
export async function measure(world: CrashWorld) {
  const life = await world.begin();
  try {
    const file = join(life.folder, "commits");
    expect(await applyUntil(life, file)).toMatchObject({ code: 0 });
    const operations = await world.readLedger(life);
    return {
      commits: Number(readFileSync(file, "utf8")),
      chunks: [...world.proxy.chunks],
      operations: operations.length,
    };
  } finally {
    await life.close();
  }
}

/** Kills the command at a commit. */
export async function killAtCommit(world: CrashWorld, point: CommitPoint): Promise<Verdict | undefined> {
  const life = await world.begin();
  try {
    const { code } = await applyUntil(life, point);
    return code === 128 ? await survive(world, life, binary) : undefined;
  } finally {
    await life.close();
  }
}

/** Kills the command before a byte passes. */
export async function killAtByte(world: CrashWorld, point: BytePoint): Promise<Verdict | undefined> {
  let kill = () => {};
  const life = await world.begin(point, () => kill());
  try {
    const running = startApply(life);
    kill = () => {
      // Kills before the connection is cut, because the process would record a cut connection.
      running.kill("SIGKILL");
      void world.proxy.cut();
    };
    const { code } = await running.ended;
    return code === 128 ? await survive(world, life, binary) : undefined;
  } finally {
    await life.close();
  }
}
