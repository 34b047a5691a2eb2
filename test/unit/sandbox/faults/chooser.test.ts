import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { makeFaultChooser } from "../../../../src/sandbox/faults/rules.ts";
import { FaultRulesSchema } from "../../../../src/sandbox/server.ts";

const post = { side: "service", method: "POST", path: "/api/products" } as const;
const get = { side: "service", method: "GET", path: "/api/uploads/a-1" } as const;
const put = { side: "storage", method: "PUT", path: "/bucket/uploads/a/b.glb" } as const;

/** The number of the rule that each call got, 0 for none. */
function play(
  rules: readonly object[],
  calls: readonly (typeof post | typeof get | typeof put)[],
  seed = 1,
): number[] {
  const choose = makeFaultChooser(FaultRulesSchema.parse({ seed, rules }));
  return calls.map((call) => choose(call)?.number ?? 0);
}

describe("which calls get a fault", () => {
  test.each([
    { name: "the first one, once", when: {}, expected: [1, 0, 0, 0] },
    { name: "by method", when: { method: "GET" }, expected: [0, 1, 0, 0] },
    { name: "by path", when: { path: "/api/uploads/*" }, expected: [0, 1, 0, 0] },
    {
      name: "* does not cross a slash",
      when: { side: "storage", path: "/bucket/*" },
      expected: [0, 0, 0, 0],
    },
    { name: "** does", when: { side: "storage", path: "/bucket/**" }, expected: [0, 0, 1, 0] },
    { name: "a dot is a dot", when: { path: "/api.products" }, expected: [0, 0, 0, 0] },
    { name: "by side", when: { side: "storage" }, expected: [0, 0, 1, 0] },
    { name: "the second that fits", when: { method: "POST", nth: 2 }, expected: [0, 0, 0, 1] },
    { name: "never", when: { probability: 0 }, expected: [0, 0, 0, 0] },
  ])("$name", ({ when, expected }) => {
    expect(play([{ fault: "reset", when }], [post, get, put, post])).toEqual(expected);
  });

  test.each([
    { times: 2, expected: [0, 1, 1, 0, 0] },
    { times: "always", expected: [0, 1, 1, 1, 1] },
  ])("times: $times, from the second on", ({ times, expected }) => {
    const rule = { fault: "reset", when: { nth: 2 }, times };
    expect(play([rule], [post, post, post, post, post])).toEqual(expected);
  });

  test("the first rule that has one gives it, and the others count all the same", () => {
    const rules = [
      { fault: "reset", when: { nth: 2 } },
      { fault: "stall", when: { nth: 2 }, times: 2 },
    ];
    expect(play(rules, [post, post, post, post, post])).toEqual([0, 1, 2, 2, 0]);
  });
});

describe("chance", () => {
  const calls = Array.from({ length: 400 }, () => post);
  const rule = { fault: "reset", when: { probability: 0.25 }, times: "always" };

  test("the same seed gives the same faults, another seed others", () => {
    expect(play([rule], calls, 7)).toEqual(play([rule], calls, 7));
    expect(play([rule], calls, 7)).not.toEqual(play([rule], calls, 8));
  });

  test("is what it says", () => {
    const struck = play([rule], calls, 7).filter((number) => number === 1).length;
    expect(struck).toBeGreaterThan(70);
    expect(struck).toBeLessThan(130);
  });

  test("calls that do not fit a rule do not change what it does", () => {
    const uploads = fc.array(fc.constantFrom(get, put), { maxLength: 4 });
    fc.assert(
      fc.property(fc.array(uploads, { maxLength: 30 }), fc.nat(), (between, seed) => {
        const posts = [{ ...rule, when: { ...rule.when, method: "POST" } }];
        const mixed = between.flatMap((others) => [...others, post]);
        const alone = play(
          posts,
          mixed.filter((call) => call === post),
          seed,
        );
        const among = play(posts, mixed, seed).filter((_number, at) => mixed[at] === post);
        expect(among).toEqual(alone);
      }),
    );
  });
});
