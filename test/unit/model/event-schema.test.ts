import { describe, expect, test } from "vitest";
import { eventJsonSchema } from "../../../src/model/event-schema.ts";
import { isPublished, mistakesIn } from "../../support/events.ts";
import { readText } from "../../support/source-files.ts";

const page = readText("docs/reference/events.md");
/** The section of each type, with its examples. */
const sections = page
  .split("\n### ")
  .slice(1)
  .map((text) => ({
    type: /^`(\w+)`/.exec(text)?.[1] ?? "",
    text: text.split("\n## ")[0] ?? "",
    examples: [...text.matchAll(/```json\n(.*?)\n```/gs)].flatMap(([, block = ""]) => block.split("\n")),
  }));

/** The names of the members of each type. */
const members: ReadonlyMap<string, readonly string[]> = new Map(
  JSON.parse(JSON.stringify(eventJsonSchema())).oneOf.map(
    ({ properties }: { properties: { type: { const: string } } }) => [
      properties.type.const,
      Object.keys(properties),
    ],
  ),
);

describe("docs/reference/events.md", () => {
  test("has a section for exactly the types of the schema, in their order", () => {
    expect(sections.map(({ type }) => type)).toEqual([...members.keys()]);
  });

  test.each(sections)("names each member of $type, and has valid examples", (section) => {
    const { type, text, examples } = section;
    for (const name of members.get(type) ?? []) {
      if (!["type", "at"].includes(name)) expect(text).toContain(`\`${name}\``);
    }
    expect(examples.length).toBeGreaterThan(0);
    for (const example of examples) {
      const event: unknown = JSON.parse(example);
      expect(event).toMatchObject({ type });
      expect(mistakesIn(event), example).toEqual([]);
    }
  });
});

describe("published schema", () => {
  const example = { type: "waiting", at: 1, reason: "backoff", ms: 5 };

  test("accepts unknown members", () => {
    expect(isPublished({ ...example, more: 1 })).toBe(true);
    // Tests allow only the documented members.
    expect(mistakesIn({ ...example, more: 1 })).not.toEqual([]);
    expect(mistakesIn(example)).toEqual([]);
  });

  test.each([
    ["an unknown type", { ...example, type: "pausing" }],
    ["a missing member", { type: "waiting", at: 1, reason: "backoff" }],
    ["an unknown reason", { ...example, reason: "tea" }],
    ["a time that is a string", { ...example, at: "now" }],
    ["an unknown version", { type: "refresh_started", format_version: 2, at: 1, calls: 1 }],
  ])("rejects %s", (_name, event) => {
    expect(isPublished(event)).toBe(false);
  });
});
