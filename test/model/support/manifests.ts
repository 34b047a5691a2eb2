import type { Desired, DesiredAttachment, DesiredDuplicate } from "../../../src/model/desired.ts";
import { draftWith } from "../../support/planning.ts";

/** One draft of the manifests, as the commands edit it. */
export interface Wish {
  protect: boolean;
  revision: number;
  publish: boolean;
  readonly files: Map<number, DesiredAttachment>;
}

/** What the manifests ask for, as the commands edit it. */
export class Manifests {
  readonly drafts = new Map<number, Wish>(
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

/** The same, with everything listed the other way round. */
export function reversed({ drafts, duplicates }: Desired): Desired {
  return {
    drafts: drafts.toReversed().map((draft) => ({ ...draft, attachments: draft.attachments.toReversed() })),
    duplicates: duplicates.toReversed(),
  };
}
