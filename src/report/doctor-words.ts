import type {
  Bound,
  CertificateFacts,
  CheckName,
  Finding,
  FindingCode,
  FindingFacts,
  Obstacle,
  PaceFacts,
} from "../model/examination.ts";
import type { FindingWords } from "./doctor-probe-words.ts";
import { fromProblem, probeWords } from "./doctor-probe-words.ts";
import { formatMilliseconds, formatRate, plural } from "./quantities.ts";

/** The words of a finding. */
export function describeFinding(finding: Finding): FindingWords {
  return describe(finding.code, finding.facts);
}

/** A finding's code and facts belong together, which a table by code can only be told where both are one type. */
function describe<Code extends FindingCode>(code: Code, facts: FindingFacts[Code]): FindingWords {
  const find: (facts: FindingFacts[Code]) => FindingWords = words[code];
  return find(facts);
}

/** What each check looks at, as its row is headed. */
export const checkTitles: Readonly<Record<CheckName, string>> = {
  node: "Node.js",
  config: "config",
  key: "API key",
  ca_file: "authorities",
  proxy: "proxy",
  ledger: "ledger",
  address: "address",
  tls: "TLS",
  key_accepted: "key accepted",
  wrong_key: "wrong key",
  version: "version header",
  media_types: "media types",
  errors: "error shape",
  uploads_query: "list of uploads",
  rate: "rate bound",
  clock: "clock",
  pace: "round trips",
  probe: "probe",
  data_type: "data.type",
  data_id: "data.id",
  update_method: "PUT and PATCH",
};

const obstacles: Readonly<Record<Obstacle, string>> = {
  config: "the config cannot be used",
  options: "the service cannot be called with these settings",
  key: "there is no usable API key",
  ledger: "the ledger keeps the bound on calls, and it cannot be opened",
  address: "the service was not reached, or something else answered",
  key_accepted: "the key was refused",
  interrupted: "interrupted",
  declined: "you said no",
  probe: "the probe before it did not tell enough to go on safely",
  lock: "the workspace could not be locked",
};

/** The words of each finding among `Code`. */
type Words = { readonly [Code in FindingCode]: (facts: FindingFacts[Code]) => FindingWords };

const words: Words = {
  "not-checked": ({ because }) => ({ seen: obstacles[because] }),

  "node-supported": ({ version }) => ({ seen: version }),
  "node-too-old": ({ version }) => ({ seen: version, advice: "Install Node.js 20.19 or newer." }),
  "config-read": ({ file, workspace }) => ({ seen: `${file}, workspace ${workspace}` }),
  "config-absent": () => ({
    seen: "there is none; the defaults are looked at, with the address that was given",
    advice: "`draftsync init` writes one.",
  }),
  "config-unusable": ({ problem }) => fromProblem(problem),
  "key-found": ({ from }) => ({ seen: `from ${from}` }),
  "key-of-sandbox": () => ({ seen: "the embedded sandbox's own" }),
  "key-file-open": ({ from }) => ({
    seen: `from ${from}, which others on this machine can read`,
    advice: `chmod 600 ${from}`,
  }),
  "key-unusable": ({ problem }) => fromProblem(problem),
  "authorities-usual": () => ({ seen: "the usual ones" }),
  "authorities-own": ({ file }) => ({ seen: `the usual ones, and those in ${file}` }),
  "authorities-unusable": ({ problem }) => fromProblem(problem),
  "proxy-none": () => ({ seen: "none for this address" }),
  "proxy-used": ({ proxy }) => ({ seen: `${proxy}, by a tunnel: it sees no key` }),
  "ledger-open": ({ location, version }) => ({ seen: `${location}, schema version ${version}` }),
  "ledger-none": () => ({ seen: "none: there is no workspace to keep one for" }),
  "ledger-missing": ({ location }) => ({ seen: `${location}: none yet; the first call makes it` }),
  "ledger-unusable": ({ problem }) => fromProblem(problem),
  "options-unusable": ({ problem }) => fromProblem(problem),

  "address-answers": ({ request, status, mediaType }) => ({
    seen: `${request} is answered ${status}, as ${mediaType}`,
  }),
  "address-all-missing": ({ requests }) => ({
    seen: `${requests.length} paths of the interface are all answered 404`,
    means: "Nothing of the interface was found there; one of them, the list of uploads, is always there.",
    advice: "Check the path in service.base_url: all calls go to what stands there, followed by /api/….",
  }),
  "address-unreachable": ({ problem }) => fromProblem(problem),
  "address-redirects": ({ status, to }) => ({
    seen: `redirected (${status}) to ${to === "" ? "nowhere" : to}`,
    means: "It was not followed: the key goes to one address only.",
    advice: "If that is the service's address, set service.base_url to it, without /api and what follows it.",
  }),
  "address-web-page": ({ status, excerpt }) => ({
    seen: `a web page answers (${status}): ${excerpt}`,
    advice: "Set service.base_url to the address of the interface, not of the web site; ask its operators.",
  }),
  "address-not-interface": ({ status, detail }) => ({
    seen: `what answers (${status}) is no JSON:API document: ${detail}`,
    advice: "Check service.base_url: something else than the service seems to answer there.",
  }),
  "address-fails": ({ status }) => ({
    seen: `the service fails (${status})`,
    advice: "Run it again later; tell its operators if it lasts.",
  }),
  "tls-good": (facts) => ({ seen: certificate(facts) }),
  "tls-ends-soon": (facts) => ({
    seen: certificate(facts),
    means: "When it has ended, no call is made any more.",
    advice: "Tell the service's operators to renew it.",
  }),
  "tls-local": () => ({ seen: "none: the service is on this machine" }),
  "tls-plain": () => ({
    seen: "none, though the service is on another machine",
    means: "Everyone on the way can read the key.",
    advice: "Use https, and take service.allow_http out.",
  }),
  "tls-expired": ({ problem }) => ({
    seen: problem.message,
    means: "The certificate has ended, or this machine's clock is ahead. The key was not sent.",
    advice: "Check this machine's clock; otherwise the service's operators have to renew it.",
  }),
  "tls-not-yet": ({ problem }) => ({
    seen: problem.message,
    means: "The certificate is not valid yet, or this machine's clock is behind. The key was not sent.",
    advice: "Check this machine's clock.",
  }),
  "tls-other-name": ({ problem }) => ({
    seen: problem.message,
    means: "The certificate is another host's. The key was not sent.",
    advice: "Set service.base_url to a name that the certificate holds.",
  }),
  "tls-untrusted": ({ problem }) => fromProblem(problem),
  "tls-unseen": () => ({ seen: "the connection was not seen" }),
  "key-accepted": ({ request, status }) => ({ seen: `${request} is answered ${status}` }),
  "key-refused": ({ problem }) => fromProblem(problem),
  "key-forbidden": ({ problem }) => ({
    seen: problem.message,
    means: "The key is known, and may read neither products nor uploads.",
    advice: "Ask the service's operators for a key with the rights of an author.",
  }),
  "key-untold": ({ statuses, same }) => ({
    seen: `the answers (${statuses.join(", ")}) do not tell`,
    ...(same ? { means: "A key that nobody has is answered, too." } : {}),
    advice: "Read a product of yours: draftsync products get ID",
  }),
  "wrong-key-refused": ({ status }) => ({ seen: `a key that nobody has is refused (${status})` }),
  "wrong-key-taken": ({ status }) => ({
    seen: `a key that nobody has is answered ${status}`,
    means: "The service does not look at the key here, so its answers say nothing about yours.",
    advice: "Check that service.base_url is the service itself.",
  }),
  "wrong-key-untold": () => ({ seen: "no answer that tells", advice: "Run it again." }),
  "version-checked": ({ status }) => ({ seen: `version 1 is spoken; an unknown one is refused (${status})` }),
  "version-unchecked": ({ status }) => ({
    seen: `an unknown version is answered ${status}`,
    means: "The service does not look at it: a later version of the service would not be noticed by it.",
  }),
  "version-refused": ({ problem }) => fromProblem(problem),
  "version-untold": () => ({ seen: "no answer that tells", advice: "Run it again." }),
  "media-types-lenient": ({ status }) => ({ seen: `one more parameter in Accept is taken (${status})` }),
  "media-types-strict": ({ status }) => ({
    seen: `one more parameter in Accept is refused (${status}), as JSON:API asks for`,
    means: "draftsync sends none. Keep service.profile.content_type without parameters.",
  }),
  "media-types-in-the-way": ({ status, contentType }) => ({
    seen: `parameters of media types are refused (${status}), and content_type is ${contentType}`,
    advice: "Take the parameters out of service.profile.content_type.",
  }),
  "media-types-untold": () => ({ seen: "no answer that tells", advice: "Run it again." }),
  "errors-jsonapi": ({ status }) => ({ seen: `JSON:API error objects (seen with ${status})` }),
  "errors-problem": ({ status }) => ({ seen: `problem details, RFC 9457 (seen with ${status})` }),
  "errors-other": ({ status }) => ({
    seen: `neither JSON:API error objects nor problem details (seen with ${status})`,
    means: "The status decides all the same; what the service says about a mistake is not shown.",
  }),
  "errors-unseen": () => ({ seen: "no error with a body was seen" }),
  "uploads-query-works": ({ parameter }) => ({ seen: `${parameter} picks the uploads that it lists` }),
  "uploads-query-ignored": ({ parameter, count }) => ({
    seen: `${parameter} is not looked at: ${plural(count, "upload")} came where none was to`,
    advice: "Have uploads read one by one, or name the parameter of this service.",
  }),
  "uploads-query-refused": ({ parameter, status }) => ({
    seen: `a list of uploads by ${parameter} is answered ${status}, and not with a list`,
    advice: "Have uploads read one by one, or name the parameter of this service.",
  }),
  "uploads-query-untold": ({ parameter, status }) => ({
    seen: `a list of one unknown upload by ${parameter} is answered ${status ?? "by nothing"}`,
    advice: "Once there are uploads: draftsync uploads list ID ID",
  }),
  "rate-fits": ({ bound, headers }) => ({
    seen: `${headers.join("; ")}: ${rate(bound)} is within it`,
  }),
  "rate-above": ({ bound, announced, headers }) => ({
    seen: headers.join("; "),
    means: `The service allows ${rate(announced)}; service.rate is ${rate(bound)}. Once it has said so in a run it is kept to, and not before.`,
    advice: "Lower service.rate.",
  }),
  "rate-without-window": ({ bound, headers }) => ({
    seen: `${headers.join("; ")}, and no window that it is for`,
    advice: `Ask the service's operators, and compare with service.rate, ${rate(bound)}.`,
  }),
  "rate-not-announced": ({ bound }) => ({
    seen: "the answers announce no bound",
    advice: `Ask the service's operators, and compare with service.rate, ${rate(bound)}.`,
  }),
  "rate-refused": ({ status, headers }) => ({
    seen: [`a call was refused (${status}) as one too many`, ...headers].join("; "),
    means: "Something else may be using the same key: draftsync alone made a few calls.",
    advice: "Lower service.rate, or let what shares the key share the ledger too.",
  }),
  "clock-right": ({ aheadMs }) => ({ seen: `${apart(aheadMs)} the service's` }),
  "clock-off": ({ aheadMs }) => ({
    seen: `${apart(aheadMs)} the service's`,
    means: "Signatures of uploads hold for a quarter of an hour; a lock expires by this clock.",
    advice: "Set this machine's clock by NTP.",
  }),
  "clock-untold": () => ({ seen: "the answers have no Date" }),
  "pace-measured": (facts) => ({ seen: pace(facts) }),
  "pace-held-by-concurrency": (facts) => ({
    seen: pace(facts),
    means: `${facts.concurrency} calls at a time are too few for ${rate(facts.bound)}.`,
    advice: "Raise service.concurrency.",
  }),
  "pace-untold": () => ({ seen: "no round trip was complete" }),

  ...probeWords,
};

function certificate({ protocol, subject, issuer, endsAt, days }: CertificateFacts): string {
  return `${protocol}; the certificate of ${subject}, by ${issuer}, ends on ${endsAt.slice(0, 10)}, in ${plural(days, "day")}`;
}

function rate({ limit, windowMs }: Bound): string {
  return formatRate(limit, windowMs);
}

function apart(aheadMs: number): string {
  const distance = Math.abs(aheadMs);
  if (distance < 2000) return "within two seconds of";
  return `${formatMilliseconds(distance)} ${aheadMs > 0 ? "ahead of" : "behind"}`;
}

function pace({ calls, fastestMs, medianMs, perSecond, bound }: PaceFacts): string {
  const times = `${formatMilliseconds(fastestMs)} at best, ${formatMilliseconds(medianMs)} in the middle of ${calls}`;
  return `${times}: at most ${perSecond.toFixed(1)} calls a second under ${rate(bound)}`;
}
