import type { LedgerErrorCode } from "../../../state/ledger-error.ts";
import type { ErrorPage } from "../error-page.ts";

/** Failures of the ledger, its lock, and what it could not record. */
export const ledgerPages = {
  "ledger-unreadable": {
    title: "The ledger cannot be opened or read",
    meaning:
      "For a SQLite file: a folder stands in its place, permissions are missing, it is no database or another program's, or its disk has no file locks. For PostgreSQL: the database does not exist, the schema belongs to another program, or the user may not use it.",
    cure: [
      "Check `state` in the config, DRAFTSYNC_STATE and --state: the path or URL may be a wrong one.",
      "SQLite: the file and its folder must be writable (two files, -wal and -shm, are kept beside it), on a local disk.",
      "PostgreSQL 13 or newer: create the database, and grant the user CREATE on it.",
    ],
  },
  "ledger-location-invalid": {
    title: "The location of the ledger cannot be understood",
    meaning: "It looks like a PostgreSQL URL, and its host, database or parameters are not valid.",
    cure: ["Write it like `postgres://user@host:5432/database?schema=shop`."],
  },
  "ledger-unreachable": {
    title: "The database server of the ledger cannot be reached",
    meaning:
      "The connection was refused or broke, the server did not answer in time, or it has no connection left. In the middle of a run all changes together wait 10 s for the server, or 20 s when it is not known whether the last one was stored.",
    cure: [
      "Check host and port of `state`, and that the server runs and can be reached from this machine.",
      "With too many connections: raise max_connections, or put a pooler in between.",
    ],
  },
  "ledger-access-denied": {
    title: "The database server refuses the user or the password",
    meaning:
      "No password was found, it is wrong, or the password file may be read by others and was refused.",
    cure: [
      "Give the password in DRAFTSYNC_STATE, PGPASSWORD, or the password file (PGPASSFILE or ~/.pgpass, `chmod 600`).",
      "In a pipeline, check that the secret reaches the job; pull requests from forks get none.",
    ],
  },
  "ledger-tls": {
    title: "The ledger cannot be reached over TLS as it must be",
    meaning: "The server's certificate is not trusted, or one side wants encryption and the other does not.",
    cure: [
      "Trust the server's authority: `?sslrootcert=FILE` in the location, or NODE_EXTRA_CA_CERTS.",
      "`?sslmode=disable` turns TLS off, `?sslmode=require` on, where you know that it is right.",
    ],
  },
  "ledger-corrupt": {
    title: "The ledger is damaged",
    meaning:
      "A row, a table or the file itself is not what draftsync wrote: a broken disk, a copy made while it was in use, or a hand-made change.",
    cure: [
      "Keep a copy of it (for SQLite with its -wal and -shm).",
      "Restore it from a backup, or `draftsync state import` an export of it into a new place.",
      "Then run `draftsync drift`: it tells what has changed at the service since the backup.",
    ],
  },
  "ledger-read-only": {
    title: "The ledger can be read and not written",
    meaning:
      "The file system, the permissions, the role of the database user, or a standby server allows reading only.",
    cure: [
      "Make the file and its folder writable, or grant the user all privileges on the tables of the schema.",
      "PostgreSQL: name the primary server.",
    ],
  },
  "ledger-disk-full": {
    title: "There is no room for the ledger to grow",
    meaning: "The change was not made; what was stored before is still there.",
    cure: [
      "Free space where the ledger lies, then run again; `draftsync state recover` first if it asks for that.",
    ],
  },
  "ledger-busy": {
    title: "Another process keeps the ledger's database locked",
    meaning:
      "It was waited for and did not let go. Another draftsync, a backup, or a program that has the file open.",
    cure: ["Wait until it has ended, then run again. Close database browsers that have the ledger open."],
  },
  "ledger-too-new": {
    title: "The ledger was written by a newer draftsync",
    meaning: "It is not read, so that nothing the newer one keeps is lost.",
    cure: [
      "Update draftsync to the version that wrote the ledger last, or to a newer one; pin one version in the pipeline.",
    ],
  },
  "ledger-too-old": {
    title: "The ledger has to be brought up to date, which this user may not do",
    meaning: "An older draftsync wrote it. Its schema is migrated by the first command that may write to it.",
    cure: ["Have somebody who may write to it run `draftsync state list` once."],
  },
  "ledger-missing": {
    title: "There is no ledger, and the command needs one",
    meaning: "Nothing was recorded at this location yet, or the location is a wrong one.",
    cure: [
      "Check `state` in the config, DRAFTSYNC_STATE and --state. The first `draftsync apply` makes a ledger.",
    ],
  },
  "ledger-replaced": {
    title: "The ledger's file was removed or replaced while it was open",
    meaning:
      "Writing on would have gone to a file that nobody sees any more, and reading would have shown another ledger. Nothing was changed.",
    cure: [
      "While no draftsync runs, put the file back from a backup, or `draftsync state import` an export of it.",
    ],
  },
  "ledger-conflict": {
    title: "The change contradicts what the ledger holds",
    meaning: "It was not made. Another process may have changed the same record meanwhile.",
    cure: [
      "Run `draftsync plan` again and go by what it shows. If it stays so, report it: it may be a defect.",
    ],
  },
  "ledger-invalid-value": {
    title: "A value cannot be kept in the ledger",
    meaning:
      "A text holds NUL or is no valid Unicode, a number is not exact, or an address does not belong to its file. The change was not made.",
    cure: [
      "Look at the value that is shown and where it comes from: a manifest, an import, or an answer of the service.",
    ],
  },
  "ledger-closed": {
    title: "The ledger was used after it had been closed",
    meaning: "Only those who use draftsync as a library can meet it; from the command line it is a defect.",
    cure: ["Close the ledger after the last use of it. From the command line: report it."],
  },
  "ledger-outcome-unknown": {
    title: "A change was being committed when the connection broke",
    meaning:
      "Whether PostgreSQL stored the change could not be found out; or the thread that writes to a SQLite file ended meanwhile.",
    cure: [
      "Make the database reachable, then run again: the next run reads what the ledger holds and goes on from there.",
    ],
  },
  "ledger-not-empty": {
    title: "An import was to go into a ledger that holds something",
    meaning: "An import never mixes two ledgers. Nothing was imported.",
    cure: ["Set `state`, DRAFTSYNC_STATE or --state to a place where there is none, and import there."],
  },
  "ledger-import-invalid": {
    title: "What was to be imported is not a ledger's export",
    meaning: "The JSON is broken, cut off, or of a version that is not read. Nothing was imported.",
    cure: ["Write it anew with `draftsync state export > FILE`."],
  },
  "ledger-failed": {
    title: "The ledger's database failed",
    meaning:
      "The disk reports an error, or the database failed in a way that has no code of its own; the message gives its reason.",
    cure: [
      "Check the disk and the file system; a network share may not lock files as SQLite needs it.",
      "Run again; if it stays so, restore the ledger from a backup.",
    ],
  },
  "ledger-owner-mismatch": {
    title: "The ledger belongs to another workspace or another service",
    meaning:
      "Its records are about another service: a plan would delete the wrong files, and the key would go to an address that only the config names, which a pull request can change. So no command that calls the service sends anything.",
    cure: [
      "Name the workspace and the service of this ledger in the config; --base-url and DRAFTSYNC_BASE_URL count too.",
      "If the same service has a new address: `draftsync state rebind`, with that address in the config or in --base-url. Files and products keep their ids.",
      "Or give this workspace a ledger of its own: `state`, DRAFTSYNC_STATE or --state.",
    ],
  },
  "lock-held": {
    title: "Another process holds the workspace's lock",
    meaning:
      "One process at a time may change a workspace. The message names the holder: user, host, process or CI job.",
    cure: [
      "Wait for it: `--lock-timeout 10m`. `draftsync lock status` shows the holder and whether its process runs.",
      "A process that has ended on this machine needs no waiting: the next command takes its lock over. A holder on another machine or in another container loses the lock a minute after its last sign of life. If it is gone for good and you cannot wait: `draftsync lock release ID`.",
      "In pipelines, let jobs of one workspace run one after the other (a concurrency group).",
    ],
  },
  "lock-lost": {
    title: "The lock was lost while the command was running",
    meaning:
      "It was released by force, or a command on another machine or in another container took it over: it had heard nothing of this process for a minute. A slow process alone never loses its lock. The ledger itself is in order. Outcomes that could not be recorded are in recovery files.",
    cure: [
      "Wait until the lock is free: `draftsync lock status`.",
      "Run `draftsync state recover` if the message asks for it, then `draftsync plan`.",
    ],
  },
  "outcome-not-recorded": {
    title: "Calls were sent, and the ledger failed to record what became of them",
    meaning:
      "Each outcome is in a recovery file in `.draftsync/recovery`, or was printed as a JSON line where no file could be written. Nothing is planned or written before they are taken in.",
    cure: [
      "Mend the ledger: the message says what is wrong with it.",
      "Run `draftsync state recover`, or `draftsync state recover FILE` for lines that were printed.",
      "In a pipeline, keep `.draftsync/recovery` as an artifact when a job ends with exit code 4.",
    ],
  },
  "recovery-pending": {
    title: "Outcomes of an earlier run wait to be taken into the ledger",
    meaning: "The ledger had failed after calls were sent. Planning without them would repeat what was done.",
    cure: ["Run `draftsync state recover`: it takes them in and removes the files."],
  },
  "recovery-unreadable": {
    title: "A recovery file or folder cannot be read",
    meaning: "It may say what became of calls, so nothing goes on without it.",
    cure: ["Make it readable for this user; for `state recover FILE`, check the path."],
  },
  "recovery-invalid": {
    title: "A recovery file is not what draftsync writes",
    meaning: "It was cut off or edited, or is of another version.",
    cure: [
      "Keep a copy: it says what became of a call.",
      "If it cannot be mended, move it away, and settle with `draftsync resolve` what `draftsync plan` shows in doubt.",
    ],
  },
  "recovery-of-another": {
    title: "A recovery file belongs to another workspace or service",
    meaning: "It was written by a command with another config or address. Nothing was changed.",
    cure: [
      "Run `draftsync state recover` with the config, and --base-url if one was given, of the command that failed.",
    ],
  },
  "recovery-of-another-ledger": {
    title: "A recovery file belongs to another ledger",
    meaning: "The ledger that the calls were noted in is not the one that is open. Nothing was changed.",
    cure: [
      "Put that ledger back first, from a backup or with `draftsync state import`.",
      "If it is lost for good: `draftsync state recover --other-ledger`.",
    ],
  },
} as const satisfies Readonly<Record<string, ErrorPage>> & Readonly<Record<LedgerErrorCode, ErrorPage>>;
