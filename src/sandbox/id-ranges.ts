/**
 * The id ranges, so that an id tells where it came from and a test can use any small number it likes:
 *
 * | range | files and products |
 * |---|---|
 * | 1 to 8 999 999 999 | existed before the sandbox (all of them, or the ones its options list) |
 * | from 9 000 000 001 | made by it: by an upload that succeeded, by a publication or a duplicate |
 */
export const FIRST_OWN_ID = 9_000_000_000;

/** Ids of attachments under the reading `dataId: other`: beyond every file id there can be. */
export const FIRST_ATTACHMENT_ID = 8_000_000_000_000_000;

/** Keys below this prefix count as already in object storage, although no bytes are kept for them. */
export const PRELOADED_PREFIX = "incoming/";

/** Whether an id belongs to what existed before the sandbox began. */
export function existedBefore(id: number, known: ReadonlySet<number> | "any"): boolean {
  return known === "any" ? id > 0 && id < FIRST_OWN_ID : known.has(id);
}
