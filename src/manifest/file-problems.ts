import type { Stats } from "node:fs";
import { fileHint, messageOf, systemCodeOf } from "../model/errors.ts";
import type { FileRole } from "./parsed-manifest.ts";
import { quote } from "./source-text.ts";

/** Why a local file that a manifest names cannot be used. */
export interface FileProblem {
  readonly code: string;
  readonly message: string;
  readonly hint: string;
}

/** The problems of one local file. `path`: relative to the workspace. */
export class FileProblems {
  readonly #name: string;
  readonly #role: FileRole;

  constructor(role: FileRole, path: string) {
    this.#role = role;
    this.#name = `The ${role === "source" ? "source" : "description file"} ${quote(path)}`;
  }

  outside(): FileProblem {
    return {
      code: "source-outside-workspace",
      message: `${this.#name} is a link that leads out of the workspace`,
      hint: "Copy the file into the workspace; only files below the folder of draftsync.yaml are used.",
    };
  }

  notAFile(stats: Stats): FileProblem {
    const kind = stats.isDirectory() ? "a folder" : stats.isFIFO() ? "a pipe" : "a device or socket";
    return {
      code: "source-not-a-file",
      message: `${this.#name} is ${kind}, not a file`,
      hint: "Name a regular file; each file has an entry of its own.",
    };
  }

  empty(): FileProblem {
    return {
      code: "source-empty",
      message: `${this.#name} is empty`,
      hint:
        this.#role === "source"
          ? "Nothing of it could be sold; put its content in place, or remove the entry."
          : 'Put the text in place. To clear the description, write description: "" instead.',
    };
  }

  pointer(): FileProblem {
    return {
      code: "source-is-lfs-pointer",
      message: `${this.#name} is a Git LFS pointer, not the file itself`,
      hint: "Run `git lfs pull`. In a pipeline, check out with Git LFS, such as `lfs: true` of actions/checkout.",
    };
  }

  tooLarge(bytes: number, limit: number): FileProblem {
    const size = (bytes / 1024 / 1024).toFixed(1);
    return {
      code: "text-too-large",
      message: `${this.#name} has ${size} MiB; ${limit / 1024 / 1024} MiB is the limit`,
      hint: "Name a file that holds the description alone.",
    };
  }

  notUtf8(): FileProblem {
    return {
      code: "not-utf8",
      message: `${this.#name} is not written in UTF-8`,
      hint: "Save it again as UTF-8.",
    };
  }

  /** `line`: from 1. */
  control(character: string, line: number): FileProblem {
    const point = character.charCodeAt(0).toString(16).padStart(4, "0").toUpperCase();
    return {
      code: "control-character",
      message: `${this.#name} has the control character U+${point} in line ${line}`,
      hint: "Remove it: a description holds text, tabs and line ends.",
    };
  }

  /** `line`: from 1. */
  conflict(line: number): FileProblem {
    return {
      code: "merge-conflict",
      message: `${this.#name} has the marker of a merge conflict in line ${line}`,
      hint: "Resolve the conflict: keep one of the two texts, and remove the markers.",
    };
  }

  changed(): FileProblem {
    return {
      code: "source-changed",
      message: `${this.#name} changed while it was read`,
      hint: "Run again when nothing writes to it.",
    };
  }

  /** A file that may hold a secret. */
  secret(): FileProblem {
    return {
      code: "source-is-secret",
      message: `${this.#name} is a hidden file or one that the config names as a secret`,
      hint: "Name a file that holds the content alone. Manifests cannot use hidden files, nor the files of keys.",
    };
  }

  unreadable(error: unknown): FileProblem {
    const code = systemCodeOf(error);
    if (code === "ENOENT" || code === "ENOTDIR") {
      return {
        code: "source-missing",
        message: `${this.#name} is not there`,
        hint: "The path is relative to the manifest's folder and case counts; here it is shown relative to the workspace.",
      };
    }
    if (code === "source-changed") return this.changed();
    return {
      code: "source-unreadable",
      message: `${this.#name} cannot be read: ${messageOf(error)}`,
      hint: fileHint(error, "Check its permissions and its links."),
    };
  }
}
