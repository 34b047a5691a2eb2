import { afterEach, beforeEach, expect, test } from "vitest";
import type { Fault } from "../../support/faulty-proxy.ts";
import type { World } from "../../support/world.ts";
import { startWorld } from "../../support/world.ts";

let world: World;

beforeEach(async () => {
  world = await startWorld();
});
afterEach(() => world.close());

// Responses to the first call of an operation. With `carriedOut`, the call also takes effect.
const errors = '{"errors":[{"title":"no"}]}';
const html = { body: "<html>proxy</html>", headers: { "content-type": "text/html" } };

const faults = {
  "408": { type: "answer", status: 408 },
  "503, carried out": { type: "answer", status: 503, carriedOut: true },
  "429, JSON:API": { type: "answer", status: 429, body: errors, headers: { "retry-after": "0.01" } },
  "429, carried out": { type: "answer", status: 429, carriedOut: true, headers: { "retry-after": "0.01" } },
  "403, JSON:API": { type: "answer", status: 403, body: errors },
  "403 as HTML, carried out": { type: "answer", status: 403, carriedOut: true, ...html },
  "404, JSON:API": { type: "answer", status: 404, body: errors },
  "410, JSON:API": { type: "answer", status: 410, body: errors },
  "404 as HTML": { type: "answer", status: 404, ...html },
  "409": { type: "answer", status: 409 },
  "303, carried out": { type: "answer", status: 303, carriedOut: true, headers: { location: "/elsewhere" } },
  "302": { type: "answer", status: 302, headers: { location: "/elsewhere" } },
  "451, JSON:API, carried out": { type: "answer", status: 451, carriedOut: true, body: errors },
  "202, carried out": { type: "answer", status: 202, carriedOut: true },
  "204, carried out": { type: "answer", status: 204, carriedOut: true },
  "of a different type": {
    type: "answer",
    status: 200,
    carriedOut: true,
    body: '{"data":{"type":"horse","id":"1"}}',
  },
  "of a different file": {
    type: "answer",
    status: 200,
    carriedOut: true,
    body: '{"data":{"type":"product_file","id":"1","attributes":{"file_id":999}}}',
  },
  "of a different draft": {
    type: "answer",
    status: 201,
    carriedOut: true,
    body: '{"data":{"type":"product","id":"1","relationships":{"draft":{"data":{"type":"draft","id":"999"}}}}}',
  },
} as const satisfies Record<string, Fault>;

/** Faults under which the call has no effect; a publish or duplicate is in doubt after them. */
const notCarriedOut: readonly string[] = [
  "408",
  "404 as HTML",
  "409",
  "302",
] satisfies (keyof typeof faults)[];

const names = Object.keys(faults);
const numbers = names.map((_name, at) => at + 1);
const files = (renderer: string) =>
  numbers.map((draft) => `draft: ${draft}\nproduct_files: [{ file_id: ${draft}0, renderer: ${renderer} }]\n`);
const sources = Object.fromEntries(numbers.map((draft) => [`${draft}.glb`, `content ${draft}`]));

/** One kind of call, made for one draft (or product) for each fault. */
interface Kind {
  readonly before?: readonly string[];
  readonly documents: readonly string[];
  /** Finds the call: group `n` is the draft (or product) in `METHOD path body`. */
  readonly call: RegExp;
  /** Applies each target by itself, for kinds of which a few lost calls stop a run. */
  readonly target?: (number: number) => string;
}

const kinds = {
  attach: { documents: files("a"), call: /^POST \/api\/drafts\/(?<n>\d+)\/product_files / },
  update: {
    before: files("a"),
    documents: files("b"),
    call: /^PATCH \/api\/drafts\/(?<n>\d+)\/product_files\/\d+ /,
  },
  detach: {
    before: files("a"),
    documents: numbers.map((draft) => `draft: ${draft}\nproduct_files: []\n`),
    call: /^DELETE \/api\/drafts\/(?<n>\d+)\/product_files\/\d+ /,
  },
  upload: {
    documents: numbers.map((draft) => `draft: ${draft}\nproduct_files: [{ source: ../${draft}.glb }]\n`),
    call: /^POST \/api\/uploads .*\/(?<n>\d+)\.glb"/,
  },
  publish: {
    documents: numbers.map((draft) => `draft: ${draft}\npublish: true\n`),
    call: /^POST \/api\/products .*"id":"(?<n>\d+)"/,
    target: (draft: number) => `drafts/${draft}`,
  },
  duplicate: {
    documents: [
      `duplicates: [${numbers.map((product) => `{ name: copy-${product}, product: ${product} }`).join(", ")}]\n`,
    ],
    call: /^POST \/api\/products\/(?<n>\d+)\/duplicate /,
    target: (product: number) => `duplicates/copy-${product}`,
  },
} as const satisfies Record<string, Kind>;

/** Applies, with one fault at each first call. Returns the number of calls and the outcome of each change. */
async function applyOnce({ call, target }: Kind, faulty: boolean) {
  const ends = new Map<number, string>();
  const sent = numbers.map(() => 0);
  world.proxy.choose = ({ method, path, body }) => {
    const number = Number(call.exec(`${method} ${path} ${body}`)?.groups?.n ?? 0);
    if (number === 0) return undefined;
    const count = (sent[number - 1] ?? 0) + 1;
    sent[number - 1] = count;
    return faulty && count === 1 ? Object.values(faults)[number - 1] : undefined;
  };
  for (const targets of target === undefined ? [[]] : numbers.map((number) => [target(number)])) {
    const { changes } = await world.plan(targets);
    if (changes.length > 0) await world.apply(undefined, {}, targets);
    for (const event of world.events)
      if (event.type === "change_finished") ends.set(numberIn(event.address), event.outcome);
  }
  return { sent, ends };
}

/** The first number in an address. */
const numberIn = (address: string) => Number(/\d+/.exec(address)?.[0]);

/** `outcome calls`, then the action of the next plan and the calls of the next apply. */
async function consequencesOf(kind: Kind): Promise<Record<string, string>> {
  if (kind.before !== undefined) {
    await world.write(kind.before.join("---\n"));
    await world.apply();
  }
  await world.write(kind.documents.join("---\n"), sources);
  const { sent, ends } = await applyOnce(kind, true);
  const planned = new Map(
    (await world.plan()).changes.map((change) => [numberIn(change.address), change.action]),
  );
  const { sent: again } = await applyOnce(kind, false);
  return Object.fromEntries(
    names.map((name, at) => {
      const end = `${ends.get(at + 1)} ${sent[at]}`;
      const next = planned.get(at + 1);
      return [name, next === undefined && again[at] === 0 ? end : `${end}, then ${next} ${again[at]}`];
    }),
  );
}

/** The response proves that nothing was done, so the next plan has the same action. */
const refusedAs = (action: string) => `rejected 1, then ${action} 1`;

const inDoubt = "unknown 1, then in_doubt 0";

const nonIdempotent = (action: string) => ({
  ...Object.fromEntries(names.map((name) => [name, inDoubt])),
  "429, JSON:API": "done 2",
  "403, JSON:API": refusedAs(action),
  "404, JSON:API": refusedAs(action),
  "410, JSON:API": refusedAs(action),
});

const repeatable = {
  "408": "done 2",
  "503, carried out": "done 2",
  "429, JSON:API": "done 2",
  "429, carried out": "done 2",
  "of a different type": "done 2",
};

/** An update or detachment; `gone` is the result when the file is not attached. */
const repeatableWrite = (action: string, gone: string) => ({
  ...repeatable,
  "403, JSON:API": refusedAs(action),
  "403 as HTML, carried out": refusedAs(action),
  "404, JSON:API": gone,
  "410, JSON:API": gone,
  "404 as HTML": refusedAs(action),
  "409": `unknown 1, then ${action} 1`,
  "303, carried out": `unknown 1, then ${action} 1`,
  "302": `unknown 1, then ${action} 1`,
  "451, JSON:API, carried out": `unknown 1, then ${action} 1`,
  "202, carried out": "done 2",
  "204, carried out": "done 1",
  "of a different file": "done 2",
  "of a different draft": "done 2",
});

const table: readonly (readonly [keyof typeof kinds, Readonly<Record<string, string>>])[] = [
  [
    "attach",
    {
      // An update checks for the file; it is posted again only when it is not attached.
      "408": "done 2",
      "503, carried out": "done 1",
      "429, JSON:API": "done 2",
      "429, carried out": "done 1",
      "403, JSON:API": refusedAs("create"),
      "403 as HTML, carried out": "rejected 1, then create 1",
      "404, JSON:API": refusedAs("create"),
      "410, JSON:API": refusedAs("create"),
      "404 as HTML": refusedAs("create"),
      "409": refusedAs("create"),
      "303, carried out": "done 1",
      "302": "done 2",
      "451, JSON:API, carried out": "done 1",
      "202, carried out": "done 1",
      "204, carried out": "done 1",
      "of a different type": "done 1",
      "of a different file": "done 1",
      "of a different draft": "done 1",
    },
  ],
  ["update", repeatableWrite("update", refusedAs("create"))],
  ["detach", repeatableWrite("delete", "done 1")],
  [
    "upload",
    {
      ...repeatable,
      "403, JSON:API": refusedAs("create"),
      "403 as HTML, carried out": refusedAs("create"),
      "404, JSON:API": refusedAs("create"),
      "410, JSON:API": refusedAs("create"),
      "404 as HTML": refusedAs("create"),
      "409": refusedAs("create"),
      "303, carried out": refusedAs("create"),
      "302": refusedAs("create"),
      "451, JSON:API, carried out": refusedAs("create"),
      "202, carried out": "done 2",
      "204, carried out": "done 2",
      "of a different file": "done 2",
      "of a different draft": "done 2",
    },
  ],
  ["publish", nonIdempotent("publish")],
  ["duplicate", { ...nonIdempotent("duplicate"), "of a different draft": "done 1" }],
];

test.each(table)(
  "retries, reports and plans each %s call according to its first response",
  async (kind, cells) => {
    expect(await consequencesOf(kinds[kind])).toEqual(cells);
    const { attachments, products } = world.sandbox.state();
    const attachedTo = attachments.map(({ draftId }) => draftId);
    expect(attachedTo).toEqual([...new Set(attachedTo)]);
    // All except those whose call never took effect.
    if (kind === "publish" || kind === "duplicate") {
      expect(products).toHaveLength(names.length - notCarriedOut.length);
    }
  },
);
