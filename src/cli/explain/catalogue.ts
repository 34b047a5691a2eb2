import { exitCode, fixedExitCode } from "../exit-code.ts";
import type { Ending, ErrorArea, ErrorPage } from "./error-page.ts";
import { callPages } from "./pages/call-pages.ts";
import { commandPages, sandboxPages } from "./pages/command-pages.ts";
import { ledgerPages } from "./pages/ledger-pages.ts";
import { logPages } from "./pages/log-pages.ts";
import { machineFindingPages } from "./pages/machine-finding-pages.ts";
import { manifestPages } from "./pages/manifest-pages.ts";
import { planPages } from "./pages/plan-pages.ts";
import { serviceFindingPages } from "./pages/service-finding-pages.ts";
import { valuePages } from "./pages/value-pages.ts";
import { yamlPages } from "./pages/yaml-pages.ts";

/** Every code that a user can meet, by where it comes from: the one table that `explain` and docs/errors.md are made of. */
export const errorAreas: readonly ErrorArea[] = [
  {
    heading: "Commands, config and keys",
    about: "What a command was told to use, and what it cannot do as it was told. Nothing was changed.",
    ending: exitCode.error,
    pages: commandPages,
  },
  {
    heading: "The text of YAML files",
    about:
      "In manifests, in the config and in files of settings. All errors are told at once, each with its line.",
    ending: exitCode.error,
    pages: yamlPages,
  },
  {
    heading: "Keys and values",
    about: "In manifests, in the config and in files of settings.",
    ending: exitCode.error,
    pages: valuePages,
  },
  {
    heading: "Manifests and local files",
    about: "What the manifests ask for, and the files that they name.",
    ending: exitCode.error,
    pages: manifestPages,
  },
  {
    heading: "Plans",
    about:
      "What a plan says of itself, and why one may not be applied. `plan` tells refusals too; `apply` ends with them.",
    ending: exitCode.error,
    pages: planPages,
  },
  {
    heading: "The ledger and its lock",
    about:
      "Where what was done is recorded. When it fails after something was done, the command ends with 3 or 4 instead.",
    ending: exitCode.error,
    pages: ledgerPages,
  },
  {
    heading: "Calls",
    about:
      "What the network or the service does to a call. They are told beside the change they belong to, and in `draftsync history`; a command ends with 3 when some operations failed, with 4 when something is in doubt.",
    ending: "depends",
    pages: callPages,
  },
  {
    heading: "The sandbox",
    about: "The service on this machine, and the rules that make it fail.",
    ending: exitCode.error,
    pages: sandboxPages,
  },
  {
    heading: "The log",
    about:
      "What is told on standard error beside the end of a command, with `--log-format json` as the entry's `code`.",
    ending: "goes-on",
    pages: logPages,
  },
  {
    heading: "Doctor: this machine",
    about:
      "What `draftsync doctor` finds before anything is sent; its JSON holds the codes. It ends with 1 when a check failed.",
    ending: "depends",
    pages: machineFindingPages,
  },
  {
    heading: "Doctor: the service",
    about: "What `draftsync doctor` finds at the service.",
    ending: "depends",
    pages: serviceFindingPages,
  },
];

/** A code with all that is told of it. */
export interface Explanation extends ErrorPage {
  readonly code: string;
  readonly area: string;
  readonly ending: Ending;
}

/** What is told of a code; `undefined` for one that there is not. */
export function explanationOf(code: string): Explanation | undefined {
  const area = errorAreas.find(({ pages }) => Object.hasOwn(pages, code));
  const page = area?.pages[code];
  if (area === undefined || page === undefined) return undefined;
  const ending = fixedExitCode(code) ?? page.ending ?? area.ending;
  return { code, area: area.heading, ...page, ending };
}

/** Every code, in the order of the areas. */
export function allCodes(): readonly string[] {
  return errorAreas.flatMap(({ pages }) => Object.keys(pages));
}
