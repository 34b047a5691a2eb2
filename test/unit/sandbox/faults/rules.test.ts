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
    { name: "no rule", rule: "", code: "missing-key", message: "rules" },
    { name: "an unknown fault", rule: "{ fault: rset }", code: "unknown-value", message: '"reset"' },
    { name: "an unknown key", rule: "{ fault: reset, time: 2 }", code: "unknown-key", message: "times" },
    {
      name: "an unknown key below when",
      rule: "{ fault: reset, when: { methd: GET } }",
      code: "unknown-key",
      message: "method",
    },
    {
      name: "a method in lower case",
      rule: "{ fault: reset, when: { method: get } }",
      code: "unknown-value",
      message: "GET",
    },
    {
      name: "a path without a slash",
      rule: "{ fault: reset, when: { path: api } }",
      code: "invalid-value",
      message: "slash",
    },
    {
      name: "a probability above 1",
      rule: "{ fault: reset, when: { probability: 2 } }",
      code: "number-out-of-range",
      message: "1",
    },
    {
      name: "an invalid number of times",
      rule: "{ fault: reset, times: never }",
      code: "wrong-type",
      message: "always",
    },
    {
      name: "an invalid duration",
      rule: "{ fault: delay, for: 2 s }",
      code: "invalid-value",
      message: "500ms",
    },
    {
      name: "a duration above an hour",
      rule: "{ fault: delay, for: 61m }",
      code: "invalid-value",
      message: "60m",
    },
    {
      name: "a setting that the fault does not have",
      rule: "{ fault: reset, for: 2s }",
      code: "bad-fault-rule",
      message: "late",
    },
    {
      name: "an effect that the fault does not have",
      rule: "{ fault: no-id, effect: none }",
      code: "bad-fault-rule",
      message: "Possible here: before.",
    },
    {
      name: "late without after",
      rule: "{ fault: reset, late: 2s }",
      code: "bad-fault-rule",
      message: "after",
    },
    { name: "a missing status", rule: "{ fault: status }", code: "bad-fault-rule", message: "503" },
    {
      name: "a fault that storage does not have",
      rule: "{ fault: no-id, when: { side: storage } }",
      code: "bad-fault-rule",
      message: "side: storage",
    },
    {
      name: "an effect that storage does not have",
      rule: "{ fault: reset, effect: after, when: { side: storage } }",
      code: "bad-fault-rule",
      message: "side: storage",
    },
    {
      name: "an invalid address",
      rule: "{ fault: redirect, to: x }",
      code: "invalid-value",
      message: "http",
    },
  ])("are rejected at their position with $name", ({ rule, code, message }) => {
    const text = rule === "" ? "seed: 7\n" : `seed: 7\nrules:\n  - ${rule}\n`;
    const { documents, diagnostics } = read(text);
    expect(documents).toEqual([]);
    expect(diagnostics).toMatchObject([{ code, place: { file: "faults.yaml", line: rule === "" ? 1 : 3 } }]);
    expect(`${diagnostics[0]?.message} ${diagnostics[0]?.hint}`).toContain(message);
  });
});
