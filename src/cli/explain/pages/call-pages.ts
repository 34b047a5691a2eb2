import type { FailureCode } from "../../../service/failures.ts";
import { exitCode } from "../../exit-code.ts";
import type { ErrorPage } from "../error-page.ts";

const settled = "Run the command again: what became of the call is found out before anything else is sent.";
const settledByPerson =
  "A publication or duplication is never sent again: look at the service, then `draftsync resolve ADDRESS`.";
const elsewhere =
  "Check `service.base_url`: something else than the service seems to answer there. `draftsync doctor` tells more.";

/** What the network or the service does to a call. */
export const callPages = {
  aborted: {
    title: "Interrupted before the call was sent",
    meaning: "Ctrl-C or SIGTERM came. Nothing of this call left; what was sent before is accounted for.",
    cure: ["Run the command again."],
    ending: exitCode.interrupted,
  },
  "aborted-in-flight": {
    title: "A second interrupt cut the call off before its answer came",
    meaning: "It may have taken effect. It is in doubt, and the ledger says so.",
    cure: [settled, settledByPerson],
    ending: exitCode.interrupted,
  },
  "retry-after-too-long": {
    title: "The service asks for a longer pause than is allowed",
    meaning:
      "Its `Retry-After` is beyond `service.profile.max_wait`. The run stopped, and no run on this ledger sends a call before that time; `draftsync plan` shows it.",
    cure: [
      "Run the command again after that time; or raise `service.profile.max_wait`, and the run waits.",
      "The ledger keeps the pause. If the service asked for it by mistake (a year, say), `draftsync state export > ledger.json`, then `draftsync state import ledger.json --state NEW` makes a ledger without it: use that one in the config.",
    ],
  },
  "rate-limiter-unavailable": {
    title: "The ledger failed, through which the bound on calls is shared",
    meaning: "Without it nobody knows how many calls others have sent. The call was not sent.",
    cure: ["See that the ledger can be written, then run the command again."],
  },
  "call-budget-exhausted": {
    title: "The budget of calls is used up",
    meaning: "The call was not sent: --max-calls, or `refresh.max_calls` for looks, was reached.",
    cure: ["Run the command again to go on, or raise the budget."],
  },
  "connection-refused": {
    title: "The service refused the connection",
    meaning: "Nothing listens at that host and port, or a firewall says no. Nothing was sent.",
    cure: [
      "Check host and port of `service.base_url`, or of the proxy in HTTPS_PROXY, and whether the service is running.",
    ],
  },
  "name-not-found": {
    title: "The host name of the service was not found",
    meaning: "Name resolution knows no such host. Nothing was sent.",
    cure: ["Check the host name in `service.base_url`, and this machine's name resolution."],
  },
  "connect-timeout": {
    title: "No connection to the service could be made in time",
    meaning: "Nobody answered, which is what firewalls mostly look like. Nothing was sent.",
    cure: ["Check host and port of `service.base_url`, and whether a firewall or proxy is in the way."],
  },
  unreachable: {
    title: "The service could not be reached",
    meaning: "The network failed before anything was sent; the message gives the system's reason.",
    cure: ["Check `service.base_url` and this machine's network, then run the command again."],
  },
  "tls-failed": {
    title: "No secure connection could be made",
    meaning:
      "The two sides found no common TLS, or what answers does not speak TLS at all. Nothing was sent.",
    cure: [
      "Check that `service.base_url` has the right scheme (https or http) and port.",
      "`draftsync doctor` shows the connection.",
    ],
  },
  "certificate-invalid": {
    title: "The certificate of the service is not valid",
    meaning:
      "It has ended, is for another name, or its authority is not trusted. The key was not sent, and the run stopped.",
    cure: [
      "Check the host name in `service.base_url` and this machine's clock.",
      "For a private authority set `service.ca_file` or NODE_EXTRA_CA_CERTS.",
    ],
  },
  "proxy-refused": {
    title: "The proxy gave no way to the service",
    meaning: "The proxy of HTTPS_PROXY answered and refused the tunnel. Nothing was sent to the service.",
    cure: ["Check HTTPS_PROXY, its user and password, and NO_PROXY."],
  },
  "invalid-id": {
    title: "An id cannot stand in a path",
    meaning: "An upload's id holds something that would change the address of the call. It was not sent.",
    cure: ["Correct the id."],
  },
  "service-not-confirmed": {
    title: "Nothing at the configured address answers like the service",
    meaning:
      "Before the first publish or duplicate of a run, the service must have returned one JSON:API document. None came, so a product or an upload was read first, " +
      "and that response was not JSON:API: a captive portal, a login page, a proxy or a wrong address. The publish or duplicate was not sent.",
    cure: [
      "Check `service.base_url`; open it in a browser on this machine to see what answers.",
      "Then run the command again: nothing is in doubt.",
    ],
  },
  timeout: {
    title: "The service did not answer in time",
    meaning: "The whole call took longer than `service.timeout`. It may have taken effect.",
    cure: [settled, "Raise `service.timeout` if the service is slow.", settledByPerson],
  },
  "connection-reset": {
    title: "The connection broke before the answer was complete",
    meaning: "The call may have taken effect.",
    cure: [settled, settledByPerson],
  },
  "response-too-large": {
    title: "The answer is larger than 10 MiB",
    meaning: "It was not read, and proves nothing about the call.",
    cure: [elsewhere],
  },
  "not-http": {
    title: "The answer is not HTTP",
    meaning: "Another protocol answers at this port. The call proves nothing.",
    cure: [elsewhere],
  },
  "server-error": {
    title: "The service failed",
    meaning: "It answered 408 or 5xx. A call that changes something may have taken effect all the same.",
    cure: [settled, settledByPerson, "If it lasts, tell the operators of the service."],
  },
  "malformed-response": {
    title: "The answer is not one of this interface",
    meaning:
      "The status says success, and the body is no valid document, of another type, or cut off. It proves nothing.",
    cure: [
      elsewhere,
      "If the service names its types otherwise, set `service.profile.types`; `draftsync doctor --draft ID --file ID` finds them.",
    ],
  },
  "response-mismatch": {
    title: "The response is about another resource",
    meaning:
      "The response names another draft or file than the request. It says success, and proves nothing about this call.",
    cure: [
      settled,
      settledByPerson,
      "If it happens again, ask the operators of the service or of a proxy in between: responses are mixed up.",
    ],
  },
  "unproven-refusal": {
    title: "A refusal that does not come from the service",
    meaning:
      "The status refuses the call, but the body is not a JSON:API error document (media type `application/vnd.api+json` with an `errors` array). " +
      "A proxy may have written it after the service did the work, so the publish or duplicate is in doubt.",
    cure: [settledByPerson, elsewhere],
  },
  "response-without-id": {
    title: "The answer names no id where one was to come",
    meaning: "The call may have taken effect, and what it made is not known.",
    cure: [settled, settledByPerson],
  },
  "empty-response": {
    title: "The answer is empty where an id was to come",
    meaning: "The service says success (204) and not what it made.",
    cure: [settled, settledByPerson],
  },
  accepted: {
    title: "The service has accepted the call and not carried it out yet",
    meaning: "It answered 202. Until it is carried out, the call is pending.",
    cure: ["Wait, then run the command again.", settledByPerson],
  },
  "upload-timeout": {
    title: "The service has not processed an upload in time",
    meaning:
      "The bytes are there, and the service still works on them after `service.profile.upload_deadline`.",
    cure: [
      "Run the command again: it goes on waiting, and uploads nothing twice.",
      "Or raise `service.profile.upload_deadline`.",
    ],
  },
  conflict: {
    title: "The service sees a conflict with what is there",
    meaning:
      "It answered 409. For an attachment: the file may be attached already, which is found out by an update.",
    cure: ["Run `draftsync plan --refresh full`: what is at the service may have changed.", settledByPerson],
  },
  "rate-limited": {
    title: "The service asks for fewer calls",
    meaning: "It answered 429 or 425, and went on doing so after the waits that it asked for.",
    cure: [
      "Run the command again later.",
      "If it happens often, lower `service.rate`; let everything that uses the same key share the ledger.",
    ],
  },
  unauthorized: {
    title: "The service does not accept the key",
    meaning: "It answered 401. The run stopped: every further call would fail in the same way.",
    cure: [
      "Check DRAFTSYNC_API_KEY or `service.api_key_file`; the key may have been revoked.",
      "`draftsync doctor` tells where the key comes from.",
    ],
  },
  forbidden: {
    title: "The key is not allowed to do this",
    meaning: "It answered 403: the draft or product belongs to another account, or the key has fewer rights.",
    cure: ["Check the ids in the manifest, and that they belong to the account of the key."],
  },
  gone: {
    title: "There is no such thing at the service",
    meaning: "It answered 404 or 410 for a draft, product or upload.",
    cure: [
      "Check the id in the manifest.",
      "If it was deleted there on purpose, remove its document; `draftsync drift` shows the rest.",
    ],
  },
  "not-attached": {
    title: "The file is not attached to the draft",
    meaning: "The service answered 404 for an attachment that the ledger holds: somebody else removed it.",
    cure: ["Run `draftsync plan` again: it attaches the file once more if a manifest asks for it."],
  },
  "wrong-base-url": {
    title: "The response does not come from the service",
    meaning:
      "The status is 404, 405 or 410, and the body is not a JSON:API error document: a portal, a login page, or the web site instead of its interface.",
    cure: [elsewhere],
  },
  redirect: {
    title: "The service answered with a redirect",
    meaning: "It is never followed: the key goes to one address only.",
    cure: [
      "Set `service.base_url` to the address that the service really has; the message shows where it leads.",
    ],
  },
  "bad-request": {
    title: "The service does not understand the request",
    meaning: "It answered 400.",
    cure: [
      "See the errors of the service in the message.",
      "`draftsync doctor` finds settings that fit this service.",
    ],
  },
  "method-not-allowed": {
    title: "The service does not allow the method",
    meaning: "It answered 405; some services know PUT and not PATCH.",
    cure: [
      "Set `service.profile.update_method`, which `draftsync doctor --draft ID --file ID` finds out.",
      "Check `service.base_url`.",
    ],
  },
  "version-not-accepted": {
    title: "The service does not speak version 1 of the interface",
    meaning: "It answered 406 to the version in the Accept header.",
    cure: ["Check `service.base_url`; another version of the service needs another version of draftsync."],
  },
  "body-too-large": {
    title: "The service finds the request too large",
    meaning: "It answered 413, most likely to a long description.",
    cure: ["Shorten the description."],
  },
  "content-type-not-accepted": {
    title: "The service does not accept the media type of the request",
    meaning: "It answered 415.",
    cure: ["Set `service.profile.content_type` to the one it wants, such as `application/json`."],
  },
  invalid: {
    title: "The service finds the request not valid",
    meaning: "It answered 422. Where its errors point to an attribute, the line of the manifest is shown.",
    cure: ["Correct the manifest where the errors point, then plan and apply again."],
  },
  refused: {
    title: "A status that the interface does not have",
    meaning: "The service returned another 4xx status. It does not prove that the call had no effect.",
    cure: ["See the errors of the service in the message."],
  },
  "upload-failed": {
    title: "The service could not process an upload",
    meaning:
      "The bytes arrived, and the service made no file of them: broken, or of a kind that it does not take.",
    cure: [
      "Check that the file opens and is of a kind that the marketplace takes.",
      "Run `draftsync apply` again to upload it anew.",
    ],
  },
  "same-file-attached": {
    title: "An upload turned out to be the file of another entry",
    meaning:
      "Only once an upload has ended is it known which file it gives. Another entry of the same list has that file, so it was not attached a second time, and that entry's attributes stay.",
    cure: [
      "Keep one of the two entries. Until then the entry named by an upload is left alone, with a warning.",
    ],
  },
  "storage-refused": {
    title: "Object storage refused a file",
    meaning:
      "The storage that the service named answered with a refusal: signature, region or rights do not fit.",
    cure: [
      "See that this machine's clock is right: signatures depend on it.",
      "Check `service.profile.storage`.",
    ],
  },
  "storage-failed": {
    title: "A file could not be put into object storage",
    meaning:
      "The network to the storage failed, or the storage did. Nothing of it is registered at the service.",
    cure: [
      "Run the command again.",
      "If it stays so, check the network to the storage and `service.profile.storage`.",
    ],
  },
  "storage-host-not-allowed": {
    title: "The service names a storage that is not trusted",
    meaning:
      "The upload credentials lead to a host that `service.profile.storage` does not allow. No file was sent there.",
    cure: [
      "If the host is right, add it to `service.profile.storage.hosts`. If not, tell the operators of the service.",
    ],
  },
  "still-in-doubt": {
    title: "It could not be found out whether an earlier call took effect",
    meaning:
      "An attachment was in doubt, and the answers of this run prove nothing either. Nothing was sent twice.",
    cure: [
      "Run the command again later: it is settled by an update.",
      "Or look at the service and say so: `draftsync resolve ADDRESS --done`, or `--not-done`.",
    ],
  },
} as const satisfies Readonly<Record<string, ErrorPage>> & Readonly<Record<FailureCode, ErrorPage>>;
