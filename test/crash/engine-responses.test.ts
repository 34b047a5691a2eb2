import { test } from "vitest";
import { killAtEveryByte } from "./support/engine-kills.ts";
import { longest } from "./support/points.ts";

test("the engine, killed before every byte of every answer", () => killAtEveryByte("response"), longest);
