import type { Desired, DesiredAttachment, DesiredDuplicate } from "../../../src/model/desired.ts";
import { draftWith } from "../../support/planning.ts";

/** One draft of the manifests, edited by the commands. */
export interface EditedDraft {
  protect: boolean;
  revision: number;
  publish: boolean;
  readonly files: Map<number, DesiredAttachment>;
}

/** The manifests, edited by the commands. */
export class Manifests {
  readonly drafts = new Map<number, EditedDraft>(
    [1, 2].map((id) => [id, { protect: false, revision: 0, publish: false, files: new Map() }]),
  );
  readonly copies = new Map<string, DesiredDuplicate>();

  desired(): Desired {
    const drafts = [...this.drafts].map(([id, { protect, publish, revision, files }]) =>
      draftWith(id, {
        protect,
        attachments: [...files.values()],
        ...(publish ? { publish: { revision, position: 1 } } : {}),
      }),
    );
    return { drafts, duplicates: [...this.copies.values()] };
  }
}

/** The same in reverse order. */
export function reversed({ drafts, duplicates }: Desired): Desired {
  return {
    drafts: drafts.toReversed().map((draft) => ({ ...draft, attachments: draft.attachments.toReversed() })),
    duplicates: duplicates.toReversed(),
  };
}
