import type { FindingCode } from "../../../model/examination.ts";
import type { LedgerErrorCode } from "../../../state/ledger-error.ts";
import type { ErrorPage } from "../error-page.ts";
import type { machineFindingPages } from "./machine-finding-pages.ts";

const untold = "No answer tells it: a call failed, or was answered in another way than the check needs.";
const again = "Run `draftsync doctor` again; what failed is told beside it.";

/** What doctor finds at the service, without sending anything that changes something. */
const lookPages = {
  "address-answers": {
    title: "A service of the interface answers",
    meaning: "What it answers is told.",
    cure: [],
  },
  "address-all-missing": {
    title: "Nothing of the interface is at this address",
    meaning: "All paths are answered 404, and the list of uploads is always there.",
    cure: ["Check the path in `service.base_url`: calls go to what stands there, followed by `/api/…`."],
  },
  "address-unreachable": {
    title: "The service was not reached",
    meaning: "The problem that is told has a code of its own.",
    cure: ["Follow that problem's hint."],
  },
  "address-redirects": {
    title: "The address redirects elsewhere",
    meaning: "It is not followed: the key goes to one address only.",
    cure: [
      "If that is the service's address, set `service.base_url` to it, without `/api` and what follows.",
    ],
  },
  "address-web-page": {
    title: "A web page answers",
    meaning: "It is the web site, a portal or a login page, not the interface.",
    cure: ["Set `service.base_url` to the address of the interface; ask its operators."],
  },
  "address-not-interface": {
    title: "What answers is no JSON:API document",
    meaning: "Something else than the service seems to answer there.",
    cure: ["Check `service.base_url`."],
  },
  "address-fails": {
    title: "The service fails",
    meaning: "It answers 5xx.",
    cure: ["Run it again later; tell its operators if it lasts."],
  },
  "tls-good": {
    title: "The connection is encrypted, and the certificate is good",
    meaning: "Its end is told.",
    cure: [],
  },
  "tls-ends-soon": {
    title: "The certificate ends within 14 days",
    meaning: "When it has ended, no call is made any more.",
    cure: ["Tell the operators of the service to renew it."],
  },
  "tls-local": { title: "The service is on this machine", meaning: "No encryption is needed.", cure: [] },
  "tls-plain": {
    title: "The service is on another machine and not encrypted",
    meaning: "Everyone on the way can read the key.",
    cure: ["Use https, and take `service.allow_http` out."],
  },
  "tls-expired": {
    title: "The certificate has ended, or this machine's clock is ahead",
    meaning: "The key was not sent.",
    cure: ["Check this machine's clock; otherwise the operators of the service have to renew it."],
  },
  "tls-not-yet": {
    title: "The certificate is not valid yet, or this machine's clock is behind",
    meaning: "The key was not sent.",
    cure: ["Check this machine's clock."],
  },
  "tls-other-name": {
    title: "The certificate is another host's",
    meaning: "The key was not sent.",
    cure: ["Set `service.base_url` to a name that the certificate holds."],
  },
  "tls-untrusted": {
    title: "The authority of the certificate is not trusted",
    meaning: "The key was not sent.",
    cure: ["For a private authority set `service.ca_file` or NODE_EXTRA_CA_CERTS."],
  },
  "tls-unseen": { title: "The connection was not seen", meaning: untold, cure: [again] },
  "key-accepted": { title: "The key is accepted", meaning: "A call that needs it was answered.", cure: [] },
  "key-refused": {
    title: "The key is refused",
    meaning: "The service answered 401.",
    cure: ["Check DRAFTSYNC_API_KEY or `service.api_key_file`; the key may have been revoked."],
  },
  "key-forbidden": {
    title: "The key is known, and may read neither products nor uploads",
    meaning: "The service answered 403.",
    cure: ["Ask the operators of the service for a key with the rights of an author."],
  },
  "key-untold": {
    title: "The answers do not tell whether the key is accepted",
    meaning: "They are the same with a key that nobody has, or say nothing of keys.",
    cure: ["Read a product of yours: `draftsync products get ID`."],
  },
  "wrong-key-refused": { title: "A key that nobody has is refused", meaning: "As it should be.", cure: [] },
  "wrong-key-taken": {
    title: "A key that nobody has is answered",
    meaning: "The service does not look at the key here, so its answers say nothing about yours.",
    cure: ["Check that `service.base_url` is the service itself."],
  },
  "wrong-key-untold": {
    title: "It is not known whether a wrong key is refused",
    meaning: untold,
    cure: [again],
  },
  "version-checked": {
    title: "The service looks at the version header",
    meaning: "It speaks version 1.",
    cure: [],
  },
  "version-unchecked": {
    title: "The service does not look at the version header",
    meaning: "A later version of the service would not be noticed by it.",
    cure: [],
  },
  "version-refused": {
    title: "The service does not speak version 1",
    meaning: "It answered 406.",
    cure: ["Check `service.base_url`; another version of the service needs another version of draftsync."],
  },
  "version-untold": {
    title: "It is not known whether the version is looked at",
    meaning: untold,
    cure: [again],
  },
  "media-types-lenient": {
    title: "Parameters of media types are taken",
    meaning: "Nothing has to be set.",
    cure: [],
  },
  "media-types-strict": {
    title: "Parameters of media types are refused, as JSON:API asks for",
    meaning: "draftsync sends none.",
    cure: ["Keep `service.profile.content_type` without parameters."],
  },
  "media-types-in-the-way": {
    title: "Parameters are refused, and content_type has some",
    meaning: "Every call that changes something would be refused.",
    cure: ["Take the parameters out of `service.profile.content_type`."],
  },
  "media-types-untold": { title: "It is not known how media types are read", meaning: untold, cure: [again] },
  "errors-jsonapi": {
    title: "Errors are JSON:API error objects",
    meaning: "They are shown as they are.",
    cure: [],
  },
  "errors-problem": {
    title: "Errors are problem details (RFC 9457)",
    meaning: "They are shown as they are.",
    cure: [],
  },
  "errors-other": {
    title: "Errors have a shape of their own",
    meaning: "The status decides all the same; what the service says about a mistake is not shown.",
    cure: [],
  },
  "errors-unseen": { title: "No error with a body was seen", meaning: "Their shape is not known.", cure: [] },
  "uploads-query-works": {
    title: "The list of uploads picks what it is asked for",
    meaning: "Nothing has to be set.",
    cure: [],
  },
  "uploads-query-ignored": {
    title: "The list of uploads does not look at the query",
    meaning: "It would be read whole each time.",
    cure: ["Set `service.profile.uploads_query: null`, or to the parameter of this service."],
  },
  "uploads-query-refused": {
    title: "The list of uploads refuses the query",
    meaning: "Uploads cannot be read many at a time in this way.",
    cure: ["Set `service.profile.uploads_query: null`, or to the parameter of this service."],
  },
  "uploads-query-untold": {
    title: "It is not known whether the list of uploads looks at the query",
    meaning: untold,
    cure: ["Once there are uploads: `draftsync uploads list ID ID`."],
  },
  "rate-fits": {
    title: "The bound that is announced is kept",
    meaning: "`service.rate` is within it.",
    cure: [],
  },
  "rate-above": {
    title: "The bound of the config is above what the service announces",
    meaning: "Once it has said so in a run it is kept to, and not before.",
    cure: ["Lower `service.rate` to what is announced."],
  },
  "rate-without-window": {
    title: "A bound is announced without the window it is for",
    meaning: "It cannot be compared with `service.rate`.",
    cure: ["Ask the operators of the service."],
  },
  "rate-not-announced": {
    title: "The service announces no bound on calls",
    meaning: "`service.rate` is kept, right or wrong.",
    cure: ["Ask the operators of the service, and set `service.rate`."],
  },
  "rate-refused": {
    title: "A call was refused as one too many",
    meaning: "draftsync alone made a few calls, so something else may be using the same key.",
    cure: ["Lower `service.rate`, or let what shares the key share the ledger too."],
  },
  "clock-right": {
    title: "This machine's clock is right",
    meaning: "It agrees with the service's.",
    cure: [],
  },
  "clock-off": {
    title: "This machine's clock is off",
    meaning: "Signatures of uploads hold for a quarter of an hour, and a lock expires by this clock.",
    cure: ["Set the clock by NTP."],
  },
  "clock-untold": { title: "The answers have no Date", meaning: "The clocks cannot be compared.", cure: [] },
  "pace-measured": {
    title: "Round trips were measured",
    meaning: "The pace that follows from them is told.",
    cure: [],
  },
  "pace-held-by-concurrency": {
    title: "Too few calls at a time for the bound",
    meaning: "With these round trips, `service.concurrency` holds the pace below `service.rate`.",
    cure: ["Raise `service.concurrency` to what is told."],
  },
  "pace-untold": { title: "No round trip was complete", meaning: untold, cure: [again] },
  "no-answer": {
    title: "No answer came",
    meaning: "A check had nothing to go by.",
    cure: ["See what is told of the address and the connection."],
  },
} as const satisfies Readonly<Record<string, ErrorPage>>;

const staysNone = "`refresh.attachments` must stay `none`.";
const putBack =
  "Put back what was changed: by `draftsync apply` where a manifest names the file, or by hand.";

/** What doctor finds with `--draft` and `--file`, next to a file that is attached. */
const probePages = {
  "probe-harmless": {
    title: "Probing is harmless here",
    meaning:
      "Updates that name no attribute left the file as it was: `refresh: { attachments: probe }` is safe.",
    cure: [],
  },
  "probe-harmful": {
    title: "A probe changes the file",
    meaning: `It is not harmless here: ${staysNone}`,
    cure: [putBack],
  },
  "probe-contradicts-record": {
    title: "The file is not what is recorded of it",
    meaning: `Somebody else has changed it, or the probe has: until that is known, ${staysNone}`,
    cure: [putBack],
  },
  "probe-shows-nothing": {
    title: "The file has no attribute after the probe",
    meaning: `It had none, or the probe has cleared them: until that is known, ${staysNone}`,
    cure: ["Look at the file at the service.", "If it never had any, name one that has."],
  },
  "probe-untold": {
    title: "The probe is answered without the file",
    meaning: "It can tell that a file is attached, not which attributes it has.",
    cure: ["Look at the file's attributes at the service before you use probes."],
  },
  "probe-accepted": {
    title: "The probe is accepted, and not carried out yet",
    meaning: `Every update would end pending, and be sent again by the next apply. ${staysNone}`,
    cure: [],
  },
  "probe-refused": {
    title: "The service refuses probes",
    meaning: `${staysNone} Nothing else needs them.`,
    cure: [],
  },
  "probe-not-attached": {
    title: "The file that was named is not attached",
    meaning: "There is nothing that could be probed.",
    cure: ["Check --draft, --file and --kind."],
  },
  "probe-failed": {
    title: "The probe failed",
    meaning: "The problem that is told has a code of its own.",
    cure: ["Follow that problem's hint."],
  },
  "data-type-as-set": {
    title: "Files have the type that is set",
    meaning: "Nothing has to be set.",
    cure: [],
  },
  "data-type-other": {
    title: "Files have another type than is set",
    meaning: "Answers of another type are taken for no answers.",
    cure: ["Set `service.profile.types` as doctor shows it."],
  },
  "data-id-is-file": {
    title: "The id in answers (data.id) is the file id",
    meaning: "Nothing has to be set.",
    cure: [],
  },
  "data-id-is-other": {
    title: "The id in answers (data.id) is one of its own",
    meaning: "draftsync does not rely on it.",
    cure: [],
  },
  "data-id-absent": { title: "Answers have no data.id", meaning: "draftsync does not rely on it.", cure: [] },
  "method-same": { title: "PUT does what PATCH does", meaning: "Either can be set.", cure: [] },
  "method-put-changes": {
    title: "PUT replaces the whole file",
    meaning: "Attributes that are not named are lost by it: `service.profile.update_method` must be PATCH.",
    cure: [putBack],
  },
  "method-put-refused": {
    title: "PUT is refused",
    meaning: "`service.profile.update_method` must be PATCH, as it is unless set.",
    cure: [],
  },
  "method-put-untold": {
    title: "What PUT does could not be seen",
    meaning: untold,
    cure: ["Keep `service.profile.update_method` at PATCH."],
  },
  "method-patch-refused": {
    title: "PATCH is refused, and PUT is taken",
    meaning: "Updates would fail as it is set.",
    cure: ["Set `service.profile.update_method: PUT`."],
  },
  "no-file": {
    title: "The answer tells no file",
    meaning: "What was answered to an update is no file of this interface, so nothing can be told by it.",
    cure: ["See the answer that is named."],
  },
} as const satisfies Readonly<Record<string, ErrorPage>>;

type ToldElsewhere = keyof typeof machineFindingPages | LedgerErrorCode;

/** What doctor finds at the service. */
export const serviceFindingPages = { ...lookPages, ...probePages } satisfies Readonly<
  Record<Exclude<FindingCode, ToldElsewhere>, ErrorPage>
>;
