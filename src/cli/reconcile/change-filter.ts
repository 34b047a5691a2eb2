/** Whether a text is worth showing again: not when it is what was shown last of its kind. */
export class ChangeFilter {
  readonly #last = new Map<string, string>();

  /** `text` is empty when there is nothing of the kind any more. */
  isNew(kind: string, text: string): boolean {
    const known = this.#last.get(kind) ?? "";
    this.#last.set(kind, text);
    return text !== "" && text !== known;
  }
}
