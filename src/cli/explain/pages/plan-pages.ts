import { exitCode } from "../../exit-code.ts";
import type { ErrorPage } from "../error-page.ts";

/** What a plan says of itself, and why it may not be applied. */
export const planPages = {
  "new-ledger": {
    title: "The ledger is new, so nothing is published or duplicated",
    meaning:
      "No person has confirmed yet that nothing was published before this ledger. A lost file, a fresh runner or a mistyped schema looks the same, and would publish everything once more. All other changes are applied; attachments and imports do not count as a confirmation.",
    cure: [
      "If nothing was published or duplicated before, confirm that once: `draftsync apply --new-ledger`, or answer the question on a terminal.",
      "If there is another ledger that recorded it, set `state` (or DRAFTSYNC_STATE, --state) to it, or bring it back with `draftsync state import`.",
      "If products exist and no ledger does, record each: `draftsync resolve drafts/48213/product --product-id 771200`.",
    ],
    ending: exitCode.refused,
  },
  "nothing-checked": {
    title: "The command `drift` compared nothing with the service",
    meaning:
      'No recorded resource was checked: files are only checked by probe, the service could not be read, or nothing is recorded yet. A report would read like "no drift".',
    cure: [
      "`draftsync drift --probe` also checks files, with one call a file; `refresh: { attachments: probe }` in the config makes that the default.",
      "`draftsync drift --refresh full` checks everything, whatever was confirmed recently.",
    ],
  },
  "same-file-twice": {
    title: "Two entries turn out to be the same file",
    meaning:
      "An upload or source of one entry is the file of another entry of the same list, which holds a file once. The other entry counts, and the attributes of this one are ignored.",
    cure: ["Keep one of the two entries."],
    ending: "goes-on",
  },
  "duplicate-of-unpublished-draft": {
    title: "A duplicate is asked for of a draft that has no product",
    meaning: "The draft is not published, and no manifest asks for its publication.",
    cure: ["Add `publish: true` to the draft, or name the product by its id: `product: 771200`."],
  },
  "duplicate-of-another-product": {
    title: "A duplicate exists already, made from another product",
    meaning:
      "The name in the ledger stands for a copy of something else. A copy cannot be made over, so nothing is done.",
    cure: ["Give the new copy a name of its own, and keep the former entry as it was."],
    ending: "goes-on",
  },
  "duplicate-forgotten": {
    title: "A duplicate is no longer declared",
    meaning:
      "Its entry was removed or renamed, or its manifest is not read any more. Applying the plan removes it from the ledger; the product stays at the service. An entry of that name is then a new one, and makes a second copy.",
    cure: ["If this is not meant, restore the entry, or the manifest, before you apply the plan."],
    ending: "goes-on",
  },
  "publish-removed": {
    title: "A product stays published though no manifest asks for it any more",
    meaning:
      "The service has no call that takes a product back. Taking `publish` away changes nothing there.",
    cure: ["Nothing needs to be done. Write `publish: true` again to say that the product is meant."],
    ending: "goes-on",
  },
  "publish-without-files": {
    title: "A draft is about to be published without files",
    meaning:
      "Its manifest declares no file and the ledger records none that stays. Files that were attached outside draftsync are not known to it.",
    cure: [
      "Add the files of the draft to its manifest, or remove `publish` until they are there.",
      "If the files are attached already, adopt them first: `draftsync import`.",
    ],
    ending: "goes-on",
  },
  "revision-lowered": {
    title: "A lower revision is asked for than is published already",
    meaning: "Revisions only go up: each one publishes once more. A lower number does nothing.",
    cure: ["Write the revision that is published, or a higher number to publish once more."],
    ending: "goes-on",
  },
  "product-gone": {
    title: "A product is not at the service any more",
    meaning:
      "A look at the service found it missing. It is never made again by itself: publishing cannot be undone.",
    cure: [
      "To publish once more, raise `publish: { revision: … }` of the draft.",
      "To duplicate once more: `draftsync state rm duplicates/NAME`, then plan again.",
    ],
    ending: "goes-on",
  },
  "not-readable": {
    title: "Something could not be looked at",
    meaning: "A look at the service failed, so what the ledger holds stands. It is never taken for missing.",
    cure: ["Follow the hint of the failure that is named, then run the command again."],
    ending: "goes-on",
  },
  "target-unknown": {
    title: "Nothing is at the address of --target",
    meaning: "Neither a manifest nor the ledger has a resource there.",
    cure: ["Write an address as `draftsync plan` shows it, or a draft, such as `drafts/48213`."],
  },
  "target-splits-draft": {
    title: "A publication or duplicate cannot go without what must come before it",
    meaning:
      "A product is published only when everything else of its draft is done; --target leaves some of that out.",
    cure: ["Target the whole draft: `--target drafts/48213`."],
  },
  "deletes-held-back": {
    title: "Deletions wait until the protection of their draft is lifted",
    meaning:
      "`protect: true` was taken out of a manifest. That has to be applied by itself before anything may be detached.",
    cure: ["Apply this plan, then plan and apply again."],
    ending: "goes-on",
  },
  "excluded-by-policy": {
    title: "Changes are held back by the policy of reconcile",
    meaning:
      "`reconcile.allow` in the config does not list their kind, so unattended rounds leave them alone.",
    cure: ["Carry them out with `draftsync apply`, or add the kind to `reconcile.allow`."],
    ending: "depends",
  },
  "excluded-with-dependency": {
    title: "Changes are held back with what must come before them",
    meaning:
      "The order of a draft is kept: nothing is detached before all is attached, nothing published before all is done.",
    cure: ["Carry out what holds them back: it is told beside them as `excluded-by-policy`."],
    ending: "depends",
  },
  "too-many-deletes": {
    title: "The plan would detach more files than the limit allows",
    meaning: "`safety.max_deletes` is exceeded, in number and in percent. Nothing was changed.",
    cure: [
      "Look at the deletions in `draftsync plan`: a moved folder or a wrong pattern is the usual reason.",
      "If they are meant, run `draftsync apply --max-deletes PERCENT`, or raise `safety.max_deletes`.",
    ],
    ending: exitCode.refused,
  },
  "too-many-gone": {
    title: "The service says that many recorded files are gone",
    meaning:
      "So many at once are more often the wrong account or address than a person at work. Nothing was changed.",
    cure: [
      "See that `service.base_url` and the key are those of this workspace: `draftsync doctor`.",
      "If the files are gone indeed, run `draftsync apply --max-deletes PERCENT`.",
      "To go by the ledger without looking: `--refresh none`.",
    ],
    ending: exitCode.refused,
  },
  "removed-drafts": {
    title: "Drafts that are recorded are no longer declared",
    meaning:
      "No document declares them, so applying the plan deletes their files. A moved manifest, a wrong pattern or an incomplete checkout does the same, so it needs consent. Nothing was changed.",
    cure: [
      "Restore the documents, or correct `manifests` in draftsync.yaml.",
      "If the drafts are to lose their files, apply a saved plan (`draftsync plan --out FILE`), run `draftsync apply --remove-drafts`, or set `safety.removed_drafts: delete`.",
      "To keep the files and stop managing the drafts: `draftsync state rm drafts/48213`.",
    ],
    ending: exitCode.refused,
  },
  "removed-drafts-excluded": {
    title: "Drafts that are no longer declared keep their files",
    meaning:
      "`reconcile` has nobody to ask, so it excludes the deletes of drafts that no document declares, and applies the rest.",
    cure: [
      "Restore the documents, delete the files with `draftsync apply --remove-drafts`, or stop managing the drafts: `draftsync state rm drafts/48213`.",
      "To let `reconcile` delete them, set `safety.removed_drafts: delete`.",
    ],
    ending: "goes-on",
  },
  "maybe-published": {
    title: "A publish is left out: its draft may be published already",
    meaning:
      "The service refused to attach a file of the draft because it was attached before, and this ledger had not recorded that. What attached it may have published the draft, too. The draft's other changes are applied.",
    cure: [
      "Check the draft's products at the service.",
      "If it is not published, run `draftsync apply` again.",
      "If it is, record the product: `draftsync resolve drafts/48213/product --product-id 771200`.",
    ],
    ending: exitCode.refused,
  },
  "draft-protected": {
    title: "A file of a protected draft would be detached",
    meaning:
      "`protect: true` stands in the manifest, or was applied and is kept in the ledger. Nothing was changed.",
    cure: [
      "Take `protect: true` out of the draft's document and apply that; then apply the deletion.",
      "If the deletion is a mistake, put the entry back into the manifest.",
    ],
    ending: exitCode.refused,
  },
  "plan-missing": {
    title: "The saved plan cannot be read",
    meaning: "There is no such file, or it may not be read.",
    cure: [
      "Write one with `draftsync plan --out FILE`, or correct the path; in a pipeline, check that the artifact was fetched.",
    ],
  },
  "plan-unreadable": {
    title: "The file is not a saved plan",
    meaning: "It is not JSON, or not what `draftsync plan --out` writes.",
    cure: ["Write the plan with `draftsync plan --out FILE`."],
  },
  "plan-not-saved": {
    title: "The plan cannot be written to its file",
    meaning: "The folder does not exist, may not be written to, or is full.",
    cure: ["Name a file in a folder that exists and can be written to."],
  },
  "plan-version": {
    title: "The saved plan is of another format",
    meaning: "Another version of draftsync wrote it.",
    cure: ["Make the plan again with the draftsync that is to apply it; pin one version in the pipeline."],
  },
  "plan-altered": {
    title: "The saved plan was altered after it was written",
    meaning: "Its content does not match its plan_id. What is applied is what was reviewed, to the byte.",
    cure: ["Make the plan again, review it, and apply that. A saved plan is never edited."],
  },
  "plan-stale": {
    title: "Something that the plan is about has changed since it was made",
    meaning:
      "The ledger records something else for one of the plan's drafts or duplicates than it did then, and no run of this plan did that; or the config names another service. Nothing was changed.",
    cure: ["Make the plan again with `draftsync plan --out FILE`, review it, and apply that."],
  },
  "plan-of-another-workspace": {
    title: "The saved plan was made for another workspace or ledger",
    meaning: "Applied here, it would change what belongs to others. Nothing was changed.",
    cure: [
      "Run it with the config and the ledger (`--config`, `--state`, DRAFTSYNC_STATE) that it was made with.",
    ],
  },
  "plan-source-changed": {
    title: "Local files changed after the plan was made",
    meaning: "Other bytes than those that were reviewed would be uploaded. Nothing was changed.",
    cure: [
      "Make the plan again, review it, and apply that; in a pipeline, apply from the commit that was planned.",
    ],
  },
} as const satisfies Readonly<Record<string, ErrorPage>>;
