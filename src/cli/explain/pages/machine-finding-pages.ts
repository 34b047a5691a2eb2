import type { FindingCode } from "../../../model/examination.ts";
import type { ErrorPage } from "../error-page.ts";

type MachineCode = Extract<
  FindingCode,
  | "not-checked"
  | "options-unusable"
  | `${"node" | "config" | "authorities" | "proxy"}-${string}`
  | `key-${"found" | "of-sandbox" | "file-open" | "unusable"}`
  | `ledger-${"open" | "none" | "missing" | "unusable"}`
>;

/** What doctor finds on this machine; `ledger-missing` is told with the ledger. */
export const machineFindingPages = {
  "not-checked": {
    title: "The check was not made",
    meaning: "Something else stands in its way, which is told beside it.",
    cure: ["Mend what stands in the way, then run `draftsync doctor` again."],
  },
  "options-unusable": {
    title: "The service cannot be called with these settings",
    meaning: "A setting below `service` is not valid; the problem that is told has a code of its own.",
    cure: ["Follow that problem's hint."],
  },
  "node-supported": { title: "This Node.js is supported", meaning: "It is 20.19 or newer.", cure: [] },
  "node-too-old": {
    title: "This Node.js is too old",
    meaning: "draftsync is built and tested for 20.19 and newer.",
    cure: ["Install Node.js 20.19 or newer."],
  },
  "config-read": { title: "The config was read", meaning: "Its file and workspace are named.", cure: [] },
  "config-absent": {
    title: "There is no config",
    meaning: "The defaults are looked at, with the address that was given.",
    cure: ["`draftsync init` writes one."],
  },
  "config-unusable": {
    title: "The config cannot be used",
    meaning: "The problem that is told has a code of its own.",
    cure: ["Follow that problem's hint; `draftsync validate` shows every mistake with its line."],
  },
  "key-found": {
    title: "There is an access key",
    meaning: "Where it comes from is told, the key never.",
    cure: [],
  },
  "key-of-sandbox": {
    title: "The sandbox brings a key of its own",
    meaning: "None has to be set.",
    cure: [],
  },
  "key-file-open": {
    title: "Others on this machine can read the file of the access key",
    meaning: "Its permissions are wider than the owner's.",
    cure: ["`chmod 600 FILE`, and change the key if others may have read it."],
  },
  "key-unusable": {
    title: "There is no access key that can be sent",
    meaning: "It is missing, unreadable or malformed; the problem that is told has a code of its own.",
    cure: ["Set DRAFTSYNC_API_KEY or `service.api_key_file`."],
  },
  "authorities-usual": {
    title: "The usual certificate authorities are trusted",
    meaning: "No file of others is set.",
    cure: [],
  },
  "authorities-own": {
    title: "Authorities of a file are trusted besides the usual ones",
    meaning: "`service.ca_file` or NODE_EXTRA_CA_CERTS names it.",
    cure: [],
  },
  "authorities-unusable": {
    title: "The file of certificate authorities cannot be used",
    meaning: "It cannot be read, or holds no certificate.",
    cure: ["Name a file with certificates in PEM in `service.ca_file`."],
  },
  "proxy-none": {
    title: "No proxy is used for this address",
    meaning: "The environment names none.",
    cure: [],
  },
  "proxy-used": {
    title: "A proxy is used, by a tunnel",
    meaning: "It sees the host name, and neither the key nor what is sent.",
    cure: [],
  },
  "ledger-open": { title: "The ledger can be opened", meaning: "Its schema version is told.", cure: [] },
  "ledger-none": {
    title: "No ledger is kept",
    meaning: "There is no workspace to keep one for; the bound on calls holds for this run alone.",
    cure: [],
  },
  "ledger-unusable": {
    title: "The ledger cannot be used",
    meaning:
      "The problem that is told has a code of its own. The bound on calls is kept in it, so nothing is sent.",
    cure: ["Follow that problem's hint."],
  },
} as const satisfies Readonly<Record<Exclude<MachineCode, "ledger-missing" | "config-missing">, ErrorPage>>;
