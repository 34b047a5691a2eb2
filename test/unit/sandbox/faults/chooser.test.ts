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

describe("a fault rule", () => {
  test.each([
    ["the first call, once", {}, [1, 0, 0, 0]],
    ["calls by method", { method: "GET" }, [0, 1, 0, 0]],
    ["calls by path", { path: "/api/uploads/*" }, [0, 1, 0, 0]],
    ["no path with a slash for *", { side: "storage", path: "/bucket/*" }, [0, 0, 0, 0]],
    ["a path with a slash for **", { side: "storage", path: "/bucket/**" }, [0, 0, 1, 0]],
    ["no other character for a dot", { path: "/api.products" }, [0, 0, 0, 0]],
    ["calls by side", { side: "storage" }, [0, 0, 1, 0]],
    ["the second matching call", { method: "POST", nth: 2 }, [0, 0, 0, 1]],
    ["no call with probability 0", { probability: 0 }, [0, 0, 0, 0]],
  ])("selects %s", (_name, when, expected) => {
    expect(play([{ fault: "reset", when }], [post, get, put, post])).toEqual(expected);
  });

  test.each([
    { times: 2, expected: [0, 1, 1, 0, 0] },
    { times: "always", expected: [0, 1, 1, 1, 1] },
  ])("selects $times calls from the second on", ({ times, expected }) => {
    const rule = { fault: "reset", when: { nth: 2 }, times };
    expect(play([rule], [post, post, post, post, post])).toEqual(expected);
  });

  test("gives its fault when it is the first to match, and later rules still count the call", () => {
    const rules = [
      { fault: "reset", when: { nth: 2 } },
      { fault: "stall", when: { nth: 2 }, times: 2 },
    ];
    expect(play(rules, [post, post, post, post, post])).toEqual([0, 1, 2, 2, 0]);
  });
});

describe("the probability of a fault", () => {
  const calls = Array.from({ length: 400 }, () => post);
  const rule = { fault: "reset", when: { probability: 0.25 }, times: "always" };

  test("gives the same faults for the same seed, and others for another seed", () => {
    expect(play([rule], calls, 7)).toEqual(play([rule], calls, 7));
    expect(play([rule], calls, 7)).not.toEqual(play([rule], calls, 8));
  });

  test("is the share of calls with a fault", () => {
    const faulty = play([rule], calls, 7).filter((number) => number === 1).length;
    expect(faulty).toBeGreaterThan(70);
    expect(faulty).toBeLessThan(130);
  });

  test("does not depend on calls that do not match", () => {
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
