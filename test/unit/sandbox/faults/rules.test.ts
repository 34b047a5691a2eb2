import { describe, expect, test } from "vitest";
import { readYaml } from "../../../../src/manifest/read-yaml.ts";
import { FaultRulesSchema } from "../../../../src/sandbox/server.ts";

function read(text: string) {
  const bytes = Buffer.from(text);
  const reading = readYaml({ file: "faults.yaml", bytes, schema: FaultRulesSchema, documents: "one" });
  return reading.ok
    ? { documents: reading.documents, diagnostics: [] }
    : { documents: [], diagnostics: reading.errors };
}

describe("fault rules", () => {
  test("are read with defaults and with times in milliseconds", () => {
    const { documents, diagnostics } = read(
      "rules:\n  - { fault: delay, for: 1.5s, when: { method: GET } }\n",
    );
    expect(diagnostics).toEqual([]);
    expect(documents[0]?.value).toEqual({
      seed: 1,
      rules: [
        {
          fault: "delay",
          for: 1500,
          times: 1,
          when: { side: "service", method: "GET", nth: 1, probability: 1 },
        },
      ],
    });
  });

  test.each([
    ["no rule", "", "missing-key", "rules"],
    ["an unknown fault", "{ fault: rset }", "unknown-value", '"reset"'],
    ["an unknown key", "{ fault: reset, time: 2 }", "unknown-key", "times"],
    ["an unknown key below when", "{ fault: reset, when: { methd: GET } }", "unknown-key", "method"],
    ["a method in lower case", "{ fault: reset, when: { method: get } }", "unknown-value", "GET"],
    ["a path without a slash", "{ fault: reset, when: { path: api } }", "invalid-value", "slash"],
    ["a probability above 1", "{ fault: reset, when: { probability: 2 } }", "number-out-of-range", "1"],
    ["an invalid number of times", "{ fault: reset, times: never }", "wrong-type", "always"],
    ["an invalid duration", "{ fault: delay, for: 2 s }", "invalid-value", "500ms"],
    ["a duration above an hour", "{ fault: delay, for: 61m }", "invalid-value", "60m"],
    ["a setting that the fault does not have", "{ fault: reset, for: 2s }", "bad-fault-rule", "late"],
    [
      "an effect that the fault does not have",
      "{ fault: no-id, effect: none }",
      "bad-fault-rule",
      "Possible here: before.",
    ],
    ["late without after", "{ fault: reset, late: 2s }", "bad-fault-rule", "after"],
    ["a missing status", "{ fault: status }", "bad-fault-rule", "503"],
    [
      "a fault that storage does not have",
      "{ fault: no-id, when: { side: storage } }",
      "bad-fault-rule",
      "side: storage",
    ],
    [
      "an effect that storage does not have",
      "{ fault: reset, effect: after, when: { side: storage } }",
      "bad-fault-rule",
      "side: storage",
    ],
    ["an invalid address", "{ fault: redirect, to: x }", "invalid-value", "http"],
  ])("are rejected at their position with %s", (_name, rule, code, message) => {
    const text = rule === "" ? "seed: 7\n" : `seed: 7\nrules:\n  - ${rule}\n`;
    const { documents, diagnostics } = read(text);
    expect(documents).toEqual([]);
    expect(diagnostics).toMatchObject([{ code, place: { file: "faults.yaml", line: rule === "" ? 1 : 3 } }]);
    expect(`${diagnostics[0]?.message} ${diagnostics[0]?.hint}`).toContain(message);
  });
});
