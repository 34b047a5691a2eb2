import { createHash } from "node:crypto";
import fc from "fast-check";
import { DraftsyncError } from "../../../src/model/errors.ts";
import type { Attributes } from "../../../src/model/resource.ts";
import type { Fault } from "../../support/faulty-proxy.ts";
import { wanted, wantedFile } from "../../support/planning.ts";
import type { EditedDraft } from "./manifests.ts";
import { SavedPlan } from "./saved-plan.ts";
import type { System } from "./system.ts";
import type { Trouble } from "./trouble.ts";

/** The input of a command's check: the saved plan and the number of calls in doubt. */
export type Expectations = Pick<System, "saved" | "inDoubt">;

/** A command of the model and the system, followed by all checks. */
function command(
  name: string,
  run: (system: System) => Promise<unknown> | unknown,
  check: (system: Expectations) => boolean = () => true,
): fc.AsyncCommand<Expectations, System> {
  const made = {
    check,
    run: async (_: Expectations, system: System) => {
      await run(system);
      await system.check();
    },
    toString: () => name,
    [fc.toStringMethod]: () => name,
  };
  return made;
}

const draftIds = fc.constantFrom(1, 1, 2);
const fileIds = fc.constantFrom(11, 12, 13);
const attributes: fc.Arbitrary<Attributes> = fc.record(
  { renderer: fc.constantFrom("arnold", "cycles", ""), is_native: fc.boolean() },
  { requiredKeys: [] },
);

const editFile = fc
  .record({ draftId: draftIds, fileId: fileIds, as: fc.option(attributes, { freq: 4 }) })
  .map(({ draftId, fileId, as }) =>
    command(`file ${draftId}/${fileId} ${JSON.stringify(as)}`, (system) => {
      const files = draftOf(system, draftId).files;
      if (as === null) files.delete(fileId);
      else files.set(fileId, wantedFile(draftId, fileId, as));
    }),
  );

/** Sources have file ids that are not valid. Two of one content are an error in the manifest. */
const editSource = fc
  .record({
    source: fc.constantFrom("a.blend", "a.blend", "b.blend"),
    content: fc.constantFrom("one", "two", "three", null),
    as: attributes,
  })
  .map(({ source, content, as }) =>
    command(`source ${source} ${content} ${JSON.stringify(as)}`, (system) => {
      const { files } = draftOf(system, 1);
      const key = source === "a.blend" ? 0 : -1;
      if (content === null) return void files.delete(key);
      const sha256 = createHash("sha256").update(content).digest("hex");
      if (files.get(-1 - key)?.content?.sha256 === sha256) return;
      const file = wanted(1, "product_files", { by: "source", source }, as);
      files.set(key, { ...file, content: system.writeSource(source, content) });
    }),
  );

const editPublish = fc.record({ draftId: draftIds, publish: fc.boolean() }).map(({ draftId, publish }) =>
  command(`publish ${draftId} ${publish}`, (system) => {
    const draft = draftOf(system, draftId);
    draft.publish = publish;
    if (publish) draft.revision += 1;
  }),
);

const editProtection = fc.record({ draftId: draftIds, protect: fc.boolean() }).map(({ draftId, protect }) =>
  command(`protect ${draftId} ${protect}`, (system) => {
    draftOf(system, draftId).protect = protect;
  }),
);

const editCopy = fc
  .record({ name: fc.constantFrom("of-product", "of-draft"), there: fc.boolean() })
  .map(({ name, there }) =>
    command(`copy ${name} ${there}`, (system) => {
      const product =
        name === "of-draft"
          ? ({ by: "draft", draftId: 1 } as const)
          : ({ by: "product_id", productId: 771 } as const);
      // A copy of an unpublished draft is an error in the manifest, not a change.
      if (name === "of-draft" && !draftOf(system, 1).publish) return;
      if (there) system.manifests.copies.set(name, { name, product, file: "manifests/a.yaml", position: 1 });
      else system.manifests.copies.delete(name);
    }),
  );

const document = { body: '{"errors":[]}' };

/** A failure response after the call took effect. */
const failedAfter = (...statuses: number[]) =>
  fc
    .constantFrom(...statuses)
    .map((status) => ({ type: "answer", carriedOut: true, status, ...document }) as const);

const fault: fc.Arbitrary<Fault> = fc.oneof(
  fc.constantFrom("lost", "answer-lost", "answer-cut").map((type) => ({ type })),
  fc.constant({ type: "late", ms: 20 } as const),
  fc.constant({ type: "answer", carriedOut: true, status: 200, body: "<html>" } as const),
  fc
    .constantFrom(400, 401, 403, 408, 409, 422, 425, 429, 500, 502, 503, 504)
    .map((status) => ({ type: "answer", status, ...document, headers: { "retry-after": "0" } }) as const),
  failedAfter(408, 409, 500, 502, 503, 504),
);

const page = {
  body: "<html>proxy</html>",
  headers: { "content-type": "text/html", "retry-after": "0", location: "/elsewhere" },
};

/** A proxy's page after a publish or duplicate that took effect. */
const pageAfter = fc
  .constantFrom(301, 302, 303, 307, 308, 400, 401, 402, 403, 404, 405, 407, 410, 418, 422, 425, 429, 451, 499)
  .map((status) => ({ type: "answer", carriedOut: true, status, ...page }) as const);

/** Most plans are small, with irreversible calls last. */
const at = fc.constantFrom(1, 1, 1, 2, 2, 3, 4, 6);
const path = fc.constantFrom("/api/", "/api/products");
const step = fc.integer({ min: 1, max: 16 });
const trouble: fc.Arbitrary<Trouble> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ type: fc.constant("fault" as const), path, at, fault }) },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant("fault" as const),
      path: fc.constant("/api/products"),
      at,
      fault: pageAfter,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant("fault" as const),
      path,
      at,
      fault: failedAfter(408, 409, 503),
      survives: fc.nat({ max: 2 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constant("kill" as const), at: step }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant("takeover" as const), at: step }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant("kill-on-wire" as const), path, at, isLate: fc.boolean() }),
  },
);

/** Applies without faults, and again when done, which must not write (P5). */
const apply = fc.constant(
  command("apply", async (system) => {
    if ((await system.apply()) !== "done") return;
    await expectNoWrite(system);
  }),
);

const troubledApply = trouble.map((each) =>
  command(`apply with ${JSON.stringify(each)}`, (system) => system.apply({ trouble: each })),
);

/** Finds and repairs what was changed outside draftsync. */
const probedApply = fc.option(trouble).map((each) =>
  command(`apply --refresh full with ${JSON.stringify(each)}`, async (system) => {
    const ended = await system.apply({ isProbed: true, trouble: each ?? undefined });
    if (ended !== "done" || each !== null) return;
    // What was in doubt, and is not wanted any more, is removed by the next one.
    if (system.plan(await system.store.load()).changes.length === 0) system.checkFiles(true);
  }),
);

/** A budget ends the run between two operations. */
const limitedApply = fc
  .record({ maxCalls: fc.integer({ min: 1, max: 6 }), trouble: fc.option(trouble) })
  .map(({ maxCalls, trouble: each }) =>
    command(`apply --max-calls ${maxCalls} with ${JSON.stringify(each)}`, (system) =>
      system.apply({ maxCalls, trouble: each ?? undefined }),
    ),
  );

const plan = fc.constant(
  command("plan --out", async (system) => {
    const recorded = await system.store.load();
    system.saved = new SavedPlan(system.plan(recorded), { recorded, desired: system.manifests.desired() });
  }),
);

/** Refuses a plan before any call when its resources have changed, except by its own runs (P6). */
const applySaved = fc.option(trouble).map((each) =>
  command(
    `apply PLAN ${JSON.stringify(each)}`,
    async (system) => {
      const { saved } = system;
      if (saved === undefined) return;
      const expected = await saved.expected(system.store);
      const before = system.model.writes;
      const ended = await system.apply({ trouble: each ?? undefined, saved }).catch((error: unknown) => {
        if (error instanceof DraftsyncError && error.code === "plan-stale") return "stale";
        throw error;
      });
      const isRight = expected === "either" || (expected === "stale") === (ended === "stale");
      if (!isRight || (ended === "stale" && system.model.writes !== before))
        system.model.violations.push(`P6: a plan that is ${expected} ended as ${ended}`);
    },
    ({ saved }) => saved !== undefined,
  ),
);

const drift = fc
  .record({ draftId: draftIds, fileId: fileIds, how: fc.constantFrom("edit", "detach", "attach") })
  .map(({ draftId, fileId, how }) =>
    command(`drift ${how} ${draftId}/${fileId}`, ({ sandbox, model }) => {
      const place = { draftId, kind: "product_file", fileId } as const;
      const file = `drafts/${draftId}/product_files/${fileId}`;
      const held = model.held.get(file);
      if ((held === undefined) !== (how === "attach")) return;
      model.drifted.add(file);
      if (how === "detach") {
        sandbox.detach(place);
        model.held.delete(file);
      } else if (how === "edit") {
        sandbox.edit(place, { renderer: "drifted" });
        model.held.set(file, {
          ours: held?.ours ?? false,
          attributes: { ...held?.attributes, renderer: "drifted" },
        });
      } else {
        sandbox.attach(place);
        model.held.set(file, { ours: false, attributes: {} });
      }
    }),
  );

const resolve = fc.nat({ max: 9 }).map((index) =>
  command(
    `resolve ${index}`,
    (system) => system.resolve(index),
    ({ inDoubt }) => inDoubt > 0,
  ),
);

const secondWriter = fc.constant(command("second writer", (system) => system.secondWriter()));

/** Edits of manifests. */
const edit = fc.oneof(
  { weight: 3, arbitrary: editFile },
  { weight: 5, arbitrary: editSource },
  { weight: 2, arbitrary: editPublish },
  { weight: 1, arbitrary: editCopy },
  { weight: 1, arbitrary: editProtection },
);

/** A plan that is saved over an applied state, applied with troubles, and meets what happens meanwhile. */
export const savedPlanSequences = fc
  .tuple(
    fc.array(edit, { minLength: 2, maxLength: 5 }),
    fc.oneof({ weight: 3, arbitrary: apply }, { weight: 1, arbitrary: troubledApply }),
    fc.array(edit, { minLength: 2, maxLength: 5 }),
    plan,
    fc.array(
      fc.oneof(
        { weight: 6, arbitrary: applySaved },
        ...[apply, troubledApply, limitedApply, probedApply, drift, resolve, edit].map((arbitrary) => ({
          weight: 1,
          arbitrary,
        })),
      ),
      { minLength: 2, maxLength: 5 },
    ),
  )
  .map(([before, first, edits, save, after]) => [...before, first, ...edits, save, ...after]);

/** Edits are more frequent, so that applies have changes. */
export const commands = fc.commands(
  [
    editFile,
    editFile,
    editFile,
    editPublish,
    editCopy,
    editProtection,
    editSource,
    apply,
    troubledApply,
    troubledApply,
    troubledApply,
    limitedApply,
    probedApply,
    plan,
    applySaved,
    drift,
    resolve,
    secondWriter,
  ],
  { maxCommands: 12, size: "max", ...replayFrom(process.env.REPLAY) },
);

/** Applies without faults until nothing is left to do. */
export async function settleAll(system: System): Promise<void> {
  for (const draft of system.manifests.drafts.values()) draft.protect = false;
  for (let attempt = 0; attempt < 8; attempt += 1) {
    const ended = await system.apply();
    await system.check();
    if (ended === "done" && system.plan(await system.store.load()).changes.length === 0) {
      await expectNoWrite(system);
      await system.settled();
      system.model.checkEnd(await system.store.load());
      system.checkFiles();
      return system.check();
    }
    for (let left = system.inDoubt; left > 0; left -= 1) await system.resolve(0);
    await system.check();
  }
  throw new Error("end: eight applies without faults did not reach the desired state");
}

async function expectNoWrite(system: System): Promise<void> {
  const before = system.model.writes;
  const left = system.plan(await system.store.load()).changes.length;
  if (left === 0) await system.apply();
  if (system.model.writes !== before)
    system.model.violations.push("P5: an apply without changes sent a write");
}

function draftOf(system: System, draftId: number): EditedDraft {
  const draft = system.manifests.drafts.get(draftId);
  if (draft === undefined) throw new Error(`draft ${draftId} is missing`);
  return draft;
}

function replayFrom(path: string | undefined) {
  return path === undefined ? {} : { replayPath: path };
}
