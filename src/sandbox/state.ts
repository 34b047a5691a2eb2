import type { SandboxContext } from "./env.ts";
import { readProduct } from "./products.ts";
import { SandboxError } from "./sandbox-error.ts";
import type { Attachment, AttachmentAttributes, AttachmentKey } from "./store/attachments.ts";
import type { Product } from "./store/products.ts";
import { type UploadView, viewUpload } from "./upload-status.ts";

/** Everything a sandbox holds, each list in the order of making. */
export interface SandboxState {
  readonly attachments: readonly Attachment[];
  /** Those made here. */
  readonly products: readonly Product[];
  readonly uploads: readonly UploadView[];
  readonly objects: readonly { key: string; size: number; etag: string }[];
}

/** Looks into a sandbox, and changes it behind a client's back: no call, no log line, no rate. */
export interface SandboxControl {
  state(): SandboxState;
  /** @throws SandboxError `already-attached`. */
  attach(place: AttachmentKey, attributes?: AttachmentAttributes): void;
  /** Sets the named attributes. @throws SandboxError `not-attached`. */
  edit(place: AttachmentKey, attributes: AttachmentAttributes): void;
  /** @throws SandboxError `not-attached`. */
  detach(place: AttachmentKey): void;
  /** @throws SandboxError `no-such-product`. */
  removeProduct(id: number): void;
}

/** The control surface of a running sandbox. */
export function makeControl(sandbox: SandboxContext): SandboxControl {
  const { settings, store } = sandbox;
  return {
    state: () => ({
      attachments: store.attachments.list(),
      products: store.products.list(),
      uploads: store.uploads.list().map((upload) => viewUpload(upload, settings)),
      objects: store.objects.list().map(({ key, size, etag }) => ({ key, size, etag })),
    }),
    attach(place, attributes = {}) {
      if (store.attachments.add(place, attributes) === undefined) {
        throw failed("already-attached", `${named(place)} is attached already.`, "Use edit() to change it.");
      }
    },
    edit(place, attributes) {
      if (store.attachments.change(place, attributes) === undefined) throw notAttached(place);
    },
    detach(place) {
      if (!store.attachments.remove(place)) throw notAttached(place);
    },
    removeProduct(id) {
      if (readProduct(sandbox, id) === undefined) {
        throw failed("no-such-product", `There is no product ${id}.`, "See state().products.");
      }
      store.products.remove(id);
    },
  };
}

function named(place: AttachmentKey): string {
  return `The ${place.kind} ${place.fileId} of draft ${place.draftId}`;
}

function notAttached(place: AttachmentKey): SandboxError {
  return failed("not-attached", `${named(place)} is not attached.`, "See state().attachments.");
}

function failed(code: string, message: string, hint: string): SandboxError {
  return new SandboxError({ code, message, hint });
}
