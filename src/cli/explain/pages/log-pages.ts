import { exitCode } from "../../exit-code.ts";
import type { ErrorPage } from "../error-page.ts";

/** What is told beside the end of a command, and what a log in JSON names its entries by. */
export const logPages = {
  interrupted: {
    title: "The command was interrupted",
    meaning:
      "After the first signal no further call starts, and those on their way are awaited for up to 5 s; the second one cuts them off. What was sent is in the ledger.",
    cure: ["Run the command again: it goes on where it was."],
  },
  "bad-usage": {
    title: "The command line was not understood",
    meaning: "A command, an argument or a flag is unknown or missing. Nothing was done.",
    cure: ["`draftsync --help` lists the commands, `draftsync plan --help` the flags of one."],
    ending: exitCode.error,
  },
  "calls-paused": {
    title: "The service has asked for no calls until a certain time",
    meaning:
      "A response with `Retry-After` came, and the ledger keeps the pause for all runs. A plan makes no calls, so it shows the time.",
    cure: ["Run apply after that time; `draftsync explain retry-after-too-long` says more."],
  },
  "max-calls-too-few": {
    title: "The budget of calls is too small for the next operation",
    meaning: "The smallest operation takes more calls than are left. No call was made for a change.",
    cure: ["Raise --max-calls to the number in the message: later runs with the same limit stop there, too."],
  },
  "more-failures": {
    title: "Changes failed for more causes than are shown",
    meaning:
      "A run shows ten causes in full, each once with the number of its changes. This entry counts the others.",
    cure: ["`draftsync history` lists every call with its cause; --verbose lists each change as it ends."],
  },
  "lock-not-released": {
    title: "The lock was not given back",
    meaning:
      "The ledger could not be reached at the end. The next command on this machine takes the lock over; on another machine or in another container it is free after a minute.",
    cure: [
      "Nothing, or to free it at once elsewhere: `draftsync lock status`, then `draftsync lock release ID`.",
    ],
  },
  "outcome-handed-over": {
    title: "What became of a call could be kept nowhere but here",
    meaning: "Neither the ledger nor a recovery file could be written; the entry holds all that is known.",
    cure: [
      "Keep the line: it can be put into a file of `.draftsync/recovery`, and `draftsync state recover` takes it in.",
      "Without it, the call is in doubt and is settled by `draftsync resolve`.",
    ],
  },
  "outcome-contradicts-ledger": {
    title: "An outcome that was kept says something else than the ledger",
    meaning: "Both were left as they are, since only one of them can be right.",
    cure: ["Look at the service, then run `draftsync state recover` with --prefer."],
  },
  "output-unwritable": {
    title: "Standard output cannot be written",
    meaning:
      "Mostly the disk is full. What was done at the service is recorded all the same. A reader that has left, as in `draftsync plan | head`, is no error. The exit code is 1 unless something went wrong at the service too, which has its own.",
    cure: ["Run a reading command again, or look with `draftsync history` at what was done."],
  },
  "config-not-taken": {
    title: "A changed config was not taken over",
    meaning:
      "`draftsync reconcile` was told to read it again, and it has errors, which were told before. The former one stays.",
    cure: ["Mend the config, check it with `draftsync validate`, and send SIGHUP again."],
  },
  "metrics-file-not-written": {
    title: "The file of metrics could not be written",
    meaning:
      "What --metrics-file names cannot be written; the message says why. The round itself is not concerned.",
    cure: ["Name a file in a folder that exists and may be written to."],
  },
  "webhook-failed": {
    title: "The webhook was not told",
    meaning: "The address of `notify.url` did not take the notice; the next round tells it again.",
    cure: ["Check the address, and whether this machine can reach it."],
  },
  stack: {
    title: "Where a defect came about",
    meaning:
      "DRAFTSYNC_DEBUG is set, and a defect of draftsync ended the command. It helps those who mend it.",
    cure: [],
    ending: "depends",
  },
  progress: {
    title: "How far a run is",
    meaning: "An entry of a log in JSON, as often as the line it stands for.",
    cure: [],
    ending: "depends",
  },
  round: {
    title: "How a round of reconcile ended",
    meaning: "An entry of a log in JSON, one a round; one that failed has the code of its failure instead.",
    cure: [],
    ending: "depends",
  },
} as const satisfies Readonly<Record<string, ErrorPage>>;
