import { expect, test } from "vitest";
import { resolveTargets } from "../../../src/plan/target-names.ts";
import { desiredWith, draftWith } from "../../support/planning.ts";

const desired = desiredWith({
  drafts: [
    draftWith(1, { title: "Sea Serpent", file: "manifests/creatures/serpent.yaml" }),
    draftWith(2, { title: "Meerjungfrau (é)", file: "manifests/creatures/mermaid.yml" }),
    draftWith(3, { file: "manifests/props.yaml" }),
    draftWith(48213, { title: "48", file: "manifests/props.yaml" }),
  ],
  duplicates: [
    { name: "winter", product: { by: "draft", draftId: 3 }, file: "manifests/props.yaml", position: 1 },
  ],
});
const titles = new Map([
  [1, "Old Serpent"],
  [9, "Sea Lantern"],
]);
const resolve = (...targets: string[]) => resolveTargets(targets, desired, { titles });

test.each([
  ["an address", "drafts/2/product_files", ["drafts/2/product_files"]],
  ["a draft id", "48213", ["drafts/48213"]],
  ["the id of an undeclared draft", "77", ["drafts/77"]],
  ["a manifest", "manifests/props.yaml", ["drafts/3", "drafts/48213", "duplicates/winter"]],
  ["a manifest path with a leading dot", "./manifests/creatures/serpent.yaml", ["drafts/1"]],
  ["manifests by a pattern", "manifests/creatures/*", ["drafts/1", "drafts/2"]],
  ["a title in a different case", "sea serpent", ["drafts/1"]],
  ["a number as an id, even if it is also a title", "48", ["drafts/48"]],
  ["a title in the other Unicode form", "Meerjungfrau (e\u0301)", ["drafts/2"]],
  ["titles by a pattern, including a draft that is no longer declared", "Sea*", ["drafts/1", "drafts/9"]],
  [
    "everything, including a draft that is no longer declared",
    "*",
    ["drafts/1", "drafts/2", "drafts/3", "drafts/48213", "duplicates/winter", "drafts/9"],
  ],
  ["an earlier title of a declared draft to nothing", "Old Serpent", ["Old Serpent"]],
  ["an unknown name to nothing", "Kraken", ["Kraken"]],
  ["the name of a duplicate", "duplicates/winter", ["duplicates/winter"]],
  ["a pattern with characters of regular expressions", "Meer*(?)", ["drafts/2"]],
])("resolves %s", (_name, target, expected) => {
  expect(resolve(target)).toEqual(expected);
});

test("resolves the path of a manifest from the current folder when the workspace has no such path", () => {
  const below = (target: string, folder: string) =>
    resolveTargets([target], desired, { titles: new Map(), folder });
  expect(below("serpent.yaml", "manifests/creatures")).toEqual(["drafts/1"]);
  expect(below("../props.yaml", "manifests/creatures")).toContain("drafts/3");
  expect(below("manifests/props.yaml", "manifests/creatures")).toContain("drafts/3");
});

test("resolves each of several targets", () => {
  expect(resolve("drafts/2", "Sea Serpent")).toEqual(["drafts/2", "drafts/1"]);
});

test.each([
  ["a path", "manifests/Dragon.yaml", "manifests/Dragon.yaml", "manifests/dragon.yaml"],
  ["a title", "Dragon", "Dragon", "DRAGON"],
  ["a title with a wildcard", "Who?", "Who?", "Whom"],
  ["a name in its own Unicode form", "caf\u00e9.yaml", "caf\u00e9.yaml", "cafe\u0301.yaml"],
])("prefers an exact match to a similar one: %s", (_name, target, exact, similar) => {
  const named = (draftId: number, name: string) =>
    draftWith(draftId, name.endsWith(".yaml") ? { file: name } : { title: name });
  const drafts = desiredWith({ drafts: [named(1, similar), named(2, exact)] });
  expect(resolveTargets([target], drafts, { titles: new Map() })).toEqual(["drafts/2"]);
});

test("prefers the path of a manifest to an equal title", () => {
  const drafts = desiredWith({
    drafts: [draftWith(1, { title: "a.yaml", file: "b.yaml" }), draftWith(2, { file: "a.yaml" })],
  });
  expect(resolveTargets(["a.yaml"], drafts, { titles: new Map() })).toEqual(["drafts/2"]);
});

test("prefers a path from the current folder to a path from the workspace that differs in case", () => {
  const drafts = desiredWith({
    drafts: [draftWith(1, { file: "sale/Dragon.yaml" }), draftWith(2, { file: "shop/sale/dragon.yaml" })],
  });
  const resolved = resolveTargets(["sale/dragon.yaml"], drafts, { titles: new Map(), folder: "shop" });
  expect(resolved).toEqual(["drafts/2"]);
});
