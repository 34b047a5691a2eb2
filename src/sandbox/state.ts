import type { UploadView } from "./documents.ts";
import type { SandboxContext } from "./env.ts";
import { SandboxError } from "./errors.ts";
import { readProduct } from "./products.ts";
import type { Attachment, AttachmentAttributes, AttachmentKey, Product, StoredObject } from "./store.ts";
import { viewUpload } from "./uploads.ts";

/** All data of a sandbox, each list in the order of creation. */
export interface SandboxState {
  readonly attachments: readonly Attachment[];
  /** Those made here. */
  readonly products: readonly Product[];
  readonly uploads: readonly UploadView[];
  readonly objects: readonly Pick<StoredObject, "key" | "size" | "etag">[];
}

/** Reads a sandbox, and changes it without a call, a log line or the rate limit. */
export interface SandboxControl {
  state(): SandboxState;
  /** @throws SandboxError `already-attached`. */
  attach(key: AttachmentKey, attributes?: AttachmentAttributes): void;
  /** Sets the named attributes. @throws SandboxError `not-attached`. */
  edit(key: AttachmentKey, attributes: AttachmentAttributes): void;
  /** @throws SandboxError `not-attached`. */
  detach(key: AttachmentKey): void;
  /** @throws SandboxError `no-such-product`. */
  removeProduct(id: number): void;
}

/** The control of a running sandbox. */
export function makeControl(sandbox: SandboxContext): SandboxControl {
  const { settings, store } = sandbox;
  return {
    state: () => ({
      attachments: store.attachments.list(),
      products: store.products.list(),
      uploads: store.uploads.list().map((upload) => viewUpload(upload, settings)),
      objects: store.objects.list().map(({ key, size, etag }) => ({ key, size, etag })),
    }),
    attach(key, attributes = {}) {
      if (store.attachments.add(key, attributes) !== undefined) return;
      throw failed("already-attached", `${nameOf(key)} is attached already.`, "Use edit() to change it.");
    },
    edit(key, attributes) {
      if (store.attachments.change(key, attributes) === undefined) throw notAttached(key);
    },
    detach(key) {
      if (!store.attachments.remove(key)) throw notAttached(key);
    },
    removeProduct(id) {
      if (readProduct(sandbox, id) === undefined) {
        throw failed("no-such-product", `There is no product ${id}.`, "See state().products.");
      }
      store.products.remove(id);
    },
  };
}

function nameOf({ draftId, kind, fileId }: AttachmentKey): string {
  return `The ${kind} ${fileId} of draft ${draftId}`;
}

function notAttached(key: AttachmentKey): SandboxError {
  return failed("not-attached", `${nameOf(key)} is not attached.`, "See state().attachments.");
}

function failed(code: string, message: string, hint: string): SandboxError {
  return new SandboxError({ code, message, hint });
}
