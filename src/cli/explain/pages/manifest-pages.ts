import type { SourceErrorCode } from "../../../service/source-file.ts";
import type { ErrorPage } from "../error-page.ts";

/** What manifests ask for, and the files that hold them. */
export const manifestPages = {
  "no-manifests": {
    title: "No file matches a pattern for manifests",
    meaning:
      "A pattern of `manifests` in the config matches nothing, often because its folder was renamed. It is an error, because the drafts of its manifests would count as removed.",
    cure: [
      'Check `manifests` in draftsync.yaml: patterns are relative to its folder, such as `"manifests/**/*.{yaml,yml}"`.',
      "Hidden files and folders, and node_modules, are left out; move the manifests out of them.",
    ],
  },
  "manifest-missing": {
    title: "A manifest that is named is not there",
    meaning: "A pattern without wildcards names exactly one file, and that file does not exist.",
    cure: ["Put the file in its place, or take it out of `manifests` in the config."],
  },
  "manifest-unmatched": {
    title: "A YAML file next to the manifests matches no pattern",
    meaning:
      "No pattern of `manifests` in the config matches the file, so it is not read. A manifest that was renamed, from `.yaml` to `.yml` for example, would count as removed.",
    cure: [
      "Use `**/*.{yaml,yml}` in `manifests`, which matches both endings, or add a pattern for the file.",
      "If it is not a manifest, exclude it by a pattern that starts with `!`, or move it out of the folder.",
    ],
    ending: "goes-on",
  },
  "manifest-changed": {
    title: "A manifest changed while the manifests were read",
    meaning:
      "Another program wrote to it, replaced it or removed it: an editor, a checkout, a copy. Only a part of it may have been read, and what is missing in a manifest is deleted, so nothing is planned.",
    cure: ["Run the command again when nothing writes to the manifests."],
  },
  "manifest-unreadable": {
    title: "A manifest or folder cannot be read",
    meaning:
      "Permissions are missing, a link leads nowhere, it is not a regular file, or too many files are open. A manifest that cannot be read would count as removed, so nothing is planned.",
    cure: [
      "Make it readable for this user (`ls -l`), remove it, or exclude it by a pattern that starts with `!`.",
      "When too many files are open, raise the limit: `ulimit -n 4096`.",
    ],
  },
  "manifest-too-large": {
    title: "A manifest has more than 16 MiB",
    meaning: "That is more than a hundred thousand attachments; mostly the file is not a manifest at all.",
    cure: ["Split it into several files, or exclude it by a pattern that starts with `!`."],
  },
  "manifest-outside-workspace": {
    title: "A link leads to a manifest outside of the workspace",
    meaning: "The workspace is the folder of draftsync.yaml. What lies outside is not under its review.",
    cure: ["Put the file into the workspace, or exclude the link by a pattern that starts with `!`."],
  },
  "pattern-outside-workspace": {
    title: "A pattern for manifests leads out of the workspace",
    meaning:
      "Patterns start at the folder of draftsync.yaml and go downwards: no `..`, no leading slash, no drive letter.",
    cure: ["Write the pattern from that folder, or move draftsync.yaml up to a folder above all manifests."],
  },
  "not-a-mapping": {
    title: "A document of a manifest is not a mapping",
    meaning:
      "Each document starts with `draft:` or `duplicates:`; a list or a plain value says nothing about a draft.",
    cure: ["Write `draft:` and its id, then `product_files:` and the rest below it, in the same column."],
  },
  "mixed-document": {
    title: "A document is a draft and a list of duplicates at once",
    meaning: "One document says one thing.",
    cure: ["Put `duplicates:` into a document of its own, after a line with `---`."],
  },
  "missing-file": {
    title: "An entry does not say which file it is about",
    meaning: "It needs exactly one of `file_id`, `upload_id`, `upload_key` and `source`.",
    cure: [
      "Add one of them: `source: files/dragon.blend` for a local file, `file_id: 9900011` for one that is uploaded.",
    ],
  },
  "ambiguous-file": {
    title: "An entry names its file in more than one way",
    meaning: "Two of `file_id`, `upload_id`, `upload_key` and `source` could be two different files.",
    cure: ["Keep exactly one of them."],
  },
  "duplicate-draft": {
    title: "A draft is described by two documents",
    meaning:
      "What one of them leaves out, the other may ask for. Together they say nothing that can be planned.",
    cure: ["Move everything of the draft into one document, and remove the other."],
  },
  "duplicate-file": {
    title: "A file is in a list twice",
    meaning: "A draft holds a file once, with one set of attributes.",
    cure: ["Keep one of the two entries."],
  },
  "same-content-twice": {
    title: "Two sources of one list have the same content",
    meaning:
      "The service may make one file of both, and a list holds a file once. Found when the files are read: by `plan` and `apply`, not by `validate`.",
    cure: ["Keep one of the two entries, or change one of the two files."],
  },
  "file-in-two-drafts": {
    title: "The same file is attached to two drafts",
    meaning: "That is possible, and more often a copied entry whose id was not changed.",
    cure: ["Check that both drafts are meant to have it; if so, nothing needs to be done."],
    ending: "goes-on",
  },
  "duplicate-name": {
    title: "Two duplicates have the same name",
    meaning:
      "The ledger knows a copy of a product by its name. Names that only look the same count as the same.",
    cure: ["Give each duplicate a name of its own."],
  },
  "source-path": {
    title: "A source is not a path relative to its manifest",
    meaning:
      "It has a backslash, starts with `/` or `~`, or is a drive letter or URL. A relative path means the same on every machine.",
    cure: ["Write it like `files/dragon.blend`, from the folder of the manifest, with forward slashes."],
  },
  "source-missing": {
    title: "A local file is not there",
    meaning:
      "The path of `source` is relative to the folder of its manifest, and case counts. In pipelines the file may not have been fetched (Git LFS).",
    cure: ["Correct the path, or put the file there.", "With Git LFS: `git lfs pull` before the plan."],
  },
  "source-unreadable": {
    title: "A local file cannot be read",
    meaning:
      "Permissions are missing, links lead in a circle, or the disk failed; the message gives the system's reason.",
    cure: ["Make the file and its folders readable for this user, and check its links."],
  },
  "source-empty": {
    title: "A local file is empty",
    meaning: "Nothing of it could be sold; an export was probably interrupted.",
    cure: ["Put its content in place, or remove the entry."],
  },
  "source-not-a-file": {
    title: "A source is a folder, pipe or device",
    meaning: "Only regular files can be uploaded.",
    cure: ["Name a regular file; each file has an entry of its own."],
  },
  "source-outside-workspace": {
    title: "A source lies outside of the workspace",
    meaning:
      "By its path, or by a link in it, it leads out of the folder of draftsync.yaml. Manifests may not have files of the machine uploaded that are not under review.",
    cure: ["Copy the file into the workspace; links that lead out of it are not followed."],
  },
  "source-changed": {
    title: "A local file changed while it was read, or after it was planned",
    meaning: "The bytes that are uploaded are the bytes that were planned, or none.",
    cure: ["Wait until nothing writes to the file, then run `draftsync plan` again."],
    ending: "depends",
  },
  "source-not-found": {
    title: "A local file was removed after it was planned",
    meaning:
      "It was there when the plan was made, and gone when it was to be uploaded. Its draft was not carried out further.",
    cure: ["Put the file back, then run the command again."],
    ending: "depends",
  },
  "source-not-readable": {
    title: "A local file could not be read when it was to be uploaded",
    meaning: "It could be read when the plan was made. Its draft was not carried out further.",
    cure: ["Check the file and its permissions, then run the command again."],
    ending: "depends",
  },
} as const satisfies Readonly<Record<string, ErrorPage>> & Readonly<Record<SourceErrorCode, ErrorPage>>;
