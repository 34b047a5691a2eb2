import type { ErrorPage } from "../error-page.ts";

/** Keys and values that do not fit their place. */
export const valuePages = {
  "unknown-key": {
    title: "A key is not known at its place",
    meaning:
      "The key is misspelled, indented wrongly, or belongs elsewhere. It is an error rather than ignored: a setting that silently does nothing is worse than none.",
    cure: [
      "Correct it as the hint says, or remove it.",
      "Let your editor check the file: `draftsync schema` (manifests) and `draftsync schema config` print the JSON Schemas.",
    ],
  },
  "missing-key": {
    title: "A required key is missing",
    meaning: "The document or entry cannot be understood without it.",
    cure: ["Add the key that is named, at the place that is shown."],
  },
  "null-value": {
    title: "A key has no value",
    meaning:
      "Nothing stands after the colon, or `null` or `~`. It could mean to clear the value or to leave it alone, so it has to be said.",
    cure: [
      'To clear a text write `""`.',
      "To leave it alone, remove the whole line.",
      "For an empty list write `[]`.",
    ],
  },
  "quoted-number": {
    title: "A number is in quotes",
    meaning: 'In quotes it is a text. Ids are numbers: `file_id: 9900011`, not `file_id: "9900011"`.',
    cure: ["Remove the quotes."],
  },
  "ambiguous-number": {
    title: "A number is not written in plain decimal digits",
    meaning:
      "Signs, leading zeros, points, exponents, prefixes (`0x`) and separators are read differently by different programs. An id must leave no doubt.",
    cure: ["Write digits only, without a leading zero."],
  },
  "number-out-of-range": {
    title: "A number is too large or too small",
    meaning:
      "Ids go up to 2^53 - 1 (9007199254740991), the largest whole number that is exact everywhere; settings have bounds of their own, which the message names.",
    cure: ["Check the number against its source; a digit may be doubled."],
  },
  "unquoted-text": {
    title: "A text is read as a number or as true or false",
    meaning:
      "Versions such as 2020 or 7.10 are texts. Without quotes YAML reads a number, and 7.10 becomes 7.1.",
    cure: ['Put it in quotes: `format_version: "2020"`.'],
  },
  "not-a-boolean": {
    title: "A value must be true or false",
    meaning: "In YAML 1.2 `yes`, `no`, `on` and `off` are texts, and so is anything in quotes.",
    cure: ["Write `true` or `false`, without quotes."],
  },
  "not-a-duration": {
    title: "A value is not a duration",
    meaning: "A duration needs its unit: ms, s, m, h or d.",
    cure: ["Write it like `500ms`, `30s`, `15m` or `2h`."],
  },
  "wrong-type": {
    title: "A value is of another kind than its place allows",
    meaning:
      "A list, a mapping or a text stands where something else is wanted. The message says what is, and what should be.",
    cure: ["Write what the message asks for. The entries of a list start with `- `."],
  },
  "unknown-value": {
    title: "A value is none of those that are allowed",
    meaning: "Only the words that the message lists are understood at this place.",
    cure: ["Write one of them."],
  },
  "empty-text": {
    title: "A text is empty where it may not be",
    meaning: "A name, path or key without a character names nothing.",
    cure: ["Write the text, or remove the key."],
  },
  "empty-list": {
    title: "A list is empty where it may not be",
    meaning: "The setting is for at least one entry.",
    cure: ["Add an entry, or remove the key."],
  },
  "too-long": {
    title: "A text or list is longer than allowed",
    meaning: "The message names the limit.",
    cure: ["Make it shorter."],
  },
  "invalid-value": {
    title: "A value does not have the form that is wanted",
    meaning:
      "The value is of the right kind, and something about it does not fit; the message and the hint say what.",
    cure: ["Correct the value as the hint says."],
  },
  "unfit-name": {
    title: "A name or attribute holds characters that it may not hold",
    meaning:
      "Names and attributes are one line without tabs, control characters and characters that turn the reading direction: with those, two names can look alike and be different.",
    cure: ["Write it on one line, and type it anew when it was pasted from somewhere."],
  },
} as const satisfies Readonly<Record<string, ErrorPage>>;
