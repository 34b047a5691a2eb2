import { test } from "vitest";
import { killAtEveryByte } from "./support/engine-kills.ts";
import { pointsTimeoutMs } from "./support/points.ts";

test(
  "the engine survives a kill before every byte of every response",
  () => killAtEveryByte("response"),
  pointsTimeoutMs,
);
