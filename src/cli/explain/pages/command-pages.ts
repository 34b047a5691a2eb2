import type { ErrorPage } from "../error-page.ts";

/** Flags, environment, config and files that a command was told to use, and what it cannot do. */
export const commandPages = {
  "invalid-flag": {
    title: "A flag or answer has a value that will not do",
    meaning: "The value is malformed or out of range, or two flags exclude each other. Nothing was done.",
    cure: ["Write it as the hint says; `draftsync COMMAND --help` has examples."],
  },
  "uploads-missing": {
    title: "The service does not return all uploads that were asked for",
    meaning:
      "The list lacked them, and reading each of them singly failed too. The others were printed: the command ends with 3 then, and with 1 when there is none.",
    cure: ["Check the ids; the hint is what the service returned for the first of them."],
  },
  "unknown-command": {
    title: "There is no such command",
    meaning: "The name after `help` is none of a command.",
    cure: ["`draftsync --help` lists the commands."],
  },
  "unknown-code": {
    title: "There is no such code",
    meaning: "`draftsync explain` knows every code that draftsync gives in square brackets.",
    cure: ["Take one of those that are offered; `draftsync explain` lists them all."],
  },
  "no-folder": {
    title: "The folder that the command was started in is gone",
    meaning: "It was removed or moved while the shell stood in it.",
    cure: ["Change to a folder that exists: `cd ~`, and from there to the workspace."],
  },
  stopped: {
    title: "The questions were not answered to the end",
    meaning: "The input ended, or Ctrl-C was pressed. Nothing was written.",
    cure: ["Run `draftsync init` again; flags answer questions beforehand."],
    ending: "depends",
  },
  "invalid-input": {
    title: "The manifests or the config have errors",
    meaning: "Each of them was told before, with its place and a code of its own. Nothing was changed.",
    cure: ["Mend what was told; `draftsync validate` checks again without network or ledger."],
  },
  "config-missing": {
    title: "There is no config",
    meaning: "draftsync.yaml is looked for in the folder and those above it, or is what --config names.",
    cure: [
      "Run the command in the workspace, or name the file: `--config FILE`.",
      "`draftsync init` writes a config.",
    ],
  },
  "config-unreadable": {
    title: "The config cannot be read",
    meaning: "It is there, and the system refuses to read it; the message says why.",
    cure: ["Check its permissions, and that it is a file."],
  },
  "base-url-invalid": {
    title: "The address of the service will not do",
    meaning:
      "It is no http or https URL, or it holds a user, password, query or fragment, which would stand in logs.",
    cure: [
      "Write it like `https://api.example.com` in `service.base_url`, DRAFTSYNC_BASE_URL or --base-url.",
      "The access key belongs into DRAFTSYNC_API_KEY.",
    ],
  },
  "invalid-base-url": {
    title: "The address of the service is not a plain http or https URL",
    meaning: "It has a user, a query or a fragment, or is no URL at all.",
    cure: ["Write it like `https://host/optional/path`."],
  },
  "base-url-not-https": {
    title: "The address of the service is http, and on another machine",
    meaning: "Everyone on the way could read the access key, so nothing is sent.",
    cure: ["Use https.", "In a network that nobody else can read: `service: { allow_http: true }`."],
  },
  "invalid-service-option": {
    title: "A bound or time of the service is not above zero",
    meaning: "Rate, window, concurrency and timeout have to be positive numbers.",
    cure: ["Correct the setting that is named."],
  },
  "api-key-missing": {
    title: "There is no access key",
    meaning:
      "DRAFTSYNC_API_KEY is not set, and no file is named, or that file is empty. Keys never stand in YAML or in flags.",
    cure: [
      "Set DRAFTSYNC_API_KEY, or name a file that holds the key in `service.api_key_file`.",
      "In a pipeline, check that the secret reaches the job; pull requests from forks get none.",
    ],
  },
  "api-key-file": {
    title: "The file of the access key cannot be read",
    meaning: "`service.api_key_file` names it; the message gives the system's reason.",
    cure: ["Check the path and its permissions, or set DRAFTSYNC_API_KEY instead."],
  },
  "key-missing": {
    title: "The access key is empty",
    meaning: "A key without a character cannot be sent.",
    cure: ["Set DRAFTSYNC_API_KEY or `service.api_key_file`."],
  },
  "key-invalid": {
    title: "The access key holds characters that no key has",
    meaning:
      "A line break, a space or a character that is not visible ASCII: mostly something that was copied along. It was not sent.",
    cure: ["Set the key anew, and nothing but the key: `printf %s KEY > FILE`."],
  },
  "ca-file-unreadable": {
    title: "The file of certificate authorities cannot be read",
    meaning: "`service.ca_file` names it; the message gives the system's reason.",
    cure: ["Check the path and its permissions."],
  },
  "ca-file-invalid": {
    title: "The file of certificate authorities holds no certificate that can be read",
    meaning: "It must hold certificates in PEM: `-----BEGIN CERTIFICATE-----` and so on.",
    cure: ["Convert it: `openssl x509 -inform der -in FILE -out FILE.pem`."],
  },
  "proxy-invalid": {
    title: "The proxy is not an http or https URL",
    meaning: "HTTPS_PROXY (or ALL_PROXY) holds something else.",
    cure: ["Write it like `http://proxy.example.com:3128`, or name the host in NO_PROXY."],
  },
  "notify-url-twice": {
    title: "The webhook's address is given twice in the config",
    meaning: "`notify` has `url` and `url_file`.",
    cure: ["Keep `url_file`, and write the address into that file and nowhere else."],
  },
  "notify-url-invalid": {
    title: "The webhook's address is not an https URL",
    meaning: "It may not hold a user or password; http is for this machine alone.",
    cure: ["Correct DRAFTSYNC_NOTIFY_URL, `notify.url_file` or `notify.url`."],
  },
  "notify-url-file": {
    title: "The file of the webhook's address cannot be read",
    meaning: "`notify.url_file` names it; the message gives the system's reason.",
    cure: ["Check the path and its permissions, or set DRAFTSYNC_NOTIFY_URL instead."],
  },
  "state-unsupported": {
    title: "The ledger cannot be kept there",
    meaning: "A ledger is a SQLite file or a PostgreSQL database; the location has another scheme.",
    cure: ["Write a path such as `.draftsync/state.db`, or `postgres://user@host/database`."],
  },
  "state-password": {
    title: "The config holds the ledger's password",
    meaning: "The config is in version control, where a password has no place.",
    cure: [
      "Write `postgres://user@host/database` there, and give the password in PGPASSWORD or the password file, or the whole location in DRAFTSYNC_STATE.",
      "Change a password that was committed.",
    ],
  },
  "approval-needed": {
    title: "There is no terminal to ask for approval on",
    meaning: "Without a person to ask, nothing is changed unless the command line says so.",
    cure: [
      "Add `--auto-approve`; in a pipeline apply a plan that was reviewed: `draftsync apply plan.json --auto-approve`.",
    ],
  },
  "address-unknown": {
    title: "Nothing is recorded at the address",
    meaning: "The ledger has no entry of that name, or the text is not an address.",
    cure: ["`draftsync state list` shows every address; quote addresses with spaces in the shell."],
  },
  "not-editable": {
    title: "The ledger's entry may not be removed or moved",
    meaning: "It is in doubt, or forgetting it would publish once more, or the new address does not fit.",
    cure: [
      "Follow the hint: settle a doubt with `draftsync resolve`; publish again by raising the revision.",
    ],
  },
  "not-rebindable": {
    title: "The ledger cannot be moved to this address",
    meaning:
      "It is not bound to a service yet, so there is nothing to move; or one of the two is the sandbox, which is never the same service as another. Nothing was changed.",
    cure: [
      "Not bound: run `draftsync apply`. The first response that is accepted from the service binds the ledger.",
      "Sandbox: give each service a ledger of its own with `state`, DRAFTSYNC_STATE or --state.",
    ],
  },
  "import-file-unreadable": {
    title: "The list of addresses cannot be read",
    meaning: "`draftsync import --file` names it.",
    cure: ["Name a text file with one address a line."],
  },
  "import-target-invalid": {
    title: "Something that was named cannot be imported",
    meaning: "It is no address, or one that does not hold the id that is looked for.",
    cure: [
      "Write an address as `draftsync plan` shows it.",
      "Where it does not hold the id, add it after `=`: `drafts/48213/product=771200`.",
    ],
  },
  "import-unreadable": {
    title: "The export that was to be imported cannot be read",
    meaning: "`draftsync state import` names a file that is not there or may not be read.",
    cure: ["Name the file that `draftsync state export` was written to, or `-` for standard input."],
  },
  "lock-not-held": {
    title: "The lock to release is not held, or is another one",
    meaning: "Its holder has ended meanwhile, or somebody else has taken it. Nothing was changed.",
    cure: ["`draftsync lock status` shows whether there is one, and its id."],
  },
  "nothing-in-doubt": {
    title: "Nothing is in doubt at the address",
    meaning: "There is nothing to settle: it was settled already, or the address is a wrong one.",
    cure: ["`draftsync plan` shows with `?` what is in doubt."],
  },
  "resolution-needed": {
    title: "It was not said what became of the operation",
    meaning:
      "`draftsync resolve` needs one of --product-id, --done and --not-done, or an answer. Nothing was settled.",
    cure: [
      "Look at the service, then say so: `draftsync resolve ADDRESS --product-id ID`, `--done` or `--not-done`.",
    ],
  },
  "resolution-needs-product": {
    title: "A publication or duplication that took effect has made a product",
    meaning: "The ledger has to know which one.",
    cure: ["Look the product up at the service: `--product-id ID`. If there is none: `--not-done`."],
  },
  "resolution-needs-no-product": {
    title: "No product comes of this operation",
    meaning: "--product-id is for publications and duplicates.",
    cure: ["Say `--done` or `--not-done`."],
  },
  "resolution-impossible": {
    title: "The ledger holds too little to record the operation as done",
    meaning: "Its file id was not noted, so an entry would have no file.",
    cure: ["Say `--not-done`: a file that is attached after all is adopted by the next apply."],
  },
  "product-of-another-draft": {
    title: "The product is of another draft",
    meaning:
      "The service says that the product with this id was published from another draft. Nothing was settled.",
    cure: ["Look the product up at the service again."],
  },
  "already-initialised": {
    title: "A file that init would write is there already",
    meaning: "Nothing was written.",
    cure: ["Choose another folder: `draftsync init FOLDER`; or write over it with `--force`."],
  },
  "package-missing": {
    title: "A pipeline needs a package of draftsync to install",
    meaning:
      "draftsync is not in a registry, where anyone could publish a package of that name, so a pipeline installs a packed file from its own repository. Nothing was written.",
    cure: [
      "Run `npm ci && npm pack` in a clone of draftsync and give the file: `--package ./draftsync-0.1.0.tgz`.",
      "Or name a commit, which `init` packs: `--package github:OWNER/REPOSITORY#COMMIT`, with all of its 40 digits.",
    ],
  },
  "package-unusable": {
    title: "The package for the pipeline could not be prepared",
    meaning:
      "The packed file or the commit of `--package` cannot be read, is not draftsync, or npm could not resolve its dependencies; the message gives the reason. Nothing was written.",
    cure: [
      "Check the path or the commit, that npm is installed, and that it reaches your registry (`npm ping`).",
    ],
  },
  "not-written": {
    title: "A file cannot be written",
    meaning:
      "The folder may not be written to, or the disk is full. What `init` had written before was taken away again.",
    cure: ["Choose a folder that can be written to."],
  },
  "listen-failed": {
    title: "The address to listen on cannot be used",
    meaning: "The port is taken by another process, or the address is not of this machine.",
    cure: ["Choose another port, or end what holds it."],
  },
  defect: {
    title: "Something failed that should not have",
    meaning:
      "It is a defect of draftsync. What was sent is in the ledger all the same: `draftsync plan` shows what is in doubt.",
    cure: ["Report it with the output of the same command under `DRAFTSYNC_DEBUG=1`."],
  },
} as const satisfies Readonly<Record<string, ErrorPage>>;

/** The sandbox, and the rules that make it fail. */
export const sandboxPages = {
  "bad-fault-rule": {
    title: "A rule of faults does not fit its fault",
    meaning: "Each fault has effects and settings of its own.",
    cure: ["See the table in docs/sandbox.md, or the hint, for what the fault takes."],
  },
  "faults-unreadable": {
    title: "The file of fault rules cannot be read",
    meaning: "`draftsync sandbox --faults` names it.",
    cure: ["Check the path and the permissions."],
  },
  "invalid-option": {
    title: "The sandbox cannot start with these options",
    meaning: "One of its options is out of range or does not fit the others; the message says which.",
    cure: ["Correct it: `draftsync sandbox --help`."],
  },
  "port-in-use": {
    title: "The sandbox's port is in use",
    meaning: "Another process listens there, perhaps another sandbox.",
    cure: ["Name another port with `--port`, or 0 for any free one."],
  },
  "store-unusable": {
    title: "The sandbox cannot use its database",
    meaning: "The file is no sandbox's database, is damaged, or may not be written.",
    cure: ["Name another file with `--db`, or remove this one to begin anew."],
  },
  "log-unusable": {
    title: "The sandbox cannot write its log",
    meaning: "The file of `--log` may not be written.",
    cure: ["Name a file that can be written."],
  },
} as const satisfies Readonly<Record<string, ErrorPage>>;
