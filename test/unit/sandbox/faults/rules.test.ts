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
  test("are read with their defaults, times in milliseconds", () => {
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
    { name: "no rule", rule: "", code: "missing-key", says: "rules" },
    { name: "a fault that is none", rule: "{ fault: rset }", code: "unknown-value", says: '"reset"' },
    { name: "an unknown key", rule: "{ fault: reset, time: 2 }", code: "unknown-key", says: "times" },
    {
      name: "an unknown key below when",
      rule: "{ fault: reset, when: { methd: GET } }",
      code: "unknown-key",
      says: "method",
    },
    {
      name: "a method in lower case",
      rule: "{ fault: reset, when: { method: get } }",
      code: "unknown-value",
      says: "GET",
    },
    {
      name: "a path that is none",
      rule: "{ fault: reset, when: { path: api } }",
      code: "invalid-value",
      says: "slash",
    },
    {
      name: "a probability above 1",
      rule: "{ fault: reset, when: { probability: 2 } }",
      code: "number-out-of-range",
      says: "1",
    },
    {
      name: "times that are none",
      rule: "{ fault: reset, times: never }",
      code: "wrong-type",
      says: "always",
    },
    { name: "no duration", rule: "{ fault: delay, for: 2 s }", code: "invalid-value", says: "500ms" },
    { name: "hours", rule: "{ fault: delay, for: 61m }", code: "invalid-value", says: "60m" },
    {
      name: "what the fault does not take",
      rule: "{ fault: reset, for: 2s }",
      code: "bad-fault-rule",
      says: "late",
    },
    {
      name: "an effect it cannot have",
      rule: "{ fault: no-id, effect: none }",
      code: "bad-fault-rule",
      says: "Possible here: before.",
    },
    { name: "late without after", rule: "{ fault: reset, late: 2s }", code: "bad-fault-rule", says: "after" },
    { name: "no status", rule: "{ fault: status }", code: "bad-fault-rule", says: "503" },
    {
      name: "a fault storage cannot have",
      rule: "{ fault: no-id, when: { side: storage } }",
      code: "bad-fault-rule",
      says: "side: storage",
    },
    {
      name: "an effect storage cannot have",
      rule: "{ fault: reset, effect: after, when: { side: storage } }",
      code: "bad-fault-rule",
      says: "side: storage",
    },
    {
      name: "an address that is none",
      rule: "{ fault: redirect, to: x }",
      code: "invalid-value",
      says: "http",
    },
  ])("refuse $name, at its place", ({ rule, code, says }) => {
    const text = rule === "" ? "seed: 7\n" : `seed: 7\nrules:\n  - ${rule}\n`;
    const { documents, diagnostics } = read(text);
    expect(documents).toEqual([]);
    expect(diagnostics).toMatchObject([{ code, place: { file: "faults.yaml", line: rule === "" ? 1 : 3 } }]);
    expect(`${diagnostics[0]?.message} ${diagnostics[0]?.hint}`).toContain(says);
  });
});
