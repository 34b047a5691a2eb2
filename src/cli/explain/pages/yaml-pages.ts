import type { ErrorPage } from "../error-page.ts";

/** What is wrong with the text of a YAML file, whatever it is for. */
export const yamlPages = {
  "not-utf8": {
    title: "The file is not in UTF-8",
    meaning:
      "Manifests and settings are read as UTF-8 and nothing else. The file is in UTF-16 or UTF-32, or holds a byte that UTF-8 does not have, as files in Latin-1 or Windows-1252 do. Guessing would send broken descriptions.",
    cure: ["Save the file as UTF-8 in your editor, or convert it: `iconv -f WINDOWS-1252 -t UTF-8 FILE`."],
  },
  "control-character": {
    title: "A character that cannot be printed is in the text",
    meaning:
      "The file, or an escape such as \\u0007 in a quoted text, holds a control character, half of a surrogate pair, or a carriage return without a line feed. YAML allows U+007F to U+009F in quotes only; U+0085 and U+2028 are text everywhere.",
    cure: [
      "Remove the character at the place that is shown, or put the text in quotes; line ends (\\n) and tabs (\\t) are fine in descriptions.",
      "For a lone carriage return, save the file with LF or CRLF line ends.",
    ],
  },
  "yaml-syntax": {
    title: "The text is not valid YAML",
    meaning:
      "The parser could not make sense of the line. Usually a quote or bracket is not closed, the indentation is off, or a value with a colon in it is not in quotes. What follows the first error of a document is not looked into.",
    cure: [
      "Mend the line that is shown, or the one above it, as the hint says.",
      "Put a value that holds `: ` or ` #`, or starts with a special character, in double quotes.",
    ],
  },
  "yaml-tab": {
    title: "A tab stands where YAML wants spaces",
    meaning: "YAML allows spaces only for indentation.",
    cure: ["Replace the tab by spaces, and set the editor to insert spaces for YAML files."],
  },
  "yaml-tag": {
    title: "A tag is not allowed",
    meaning:
      "Something like `!!str` stands before a value. Every value has the type that it is written as, so that a reader needs to know nothing else.",
    cure: ['Remove the tag; to make a value text, put it in quotes: `format_version: "2020"`.'],
  },
  "yaml-directive": {
    title: "A YAML directive is not supported",
    meaning:
      "Files are read as YAML 1.2. `%YAML 1.1` would change what `yes` and `010` mean, so it is refused.",
    cure: ["Remove the line that starts with `%`."],
  },
  "nesting-too-deep": {
    title: "Lists and mappings are nested more than 100 levels deep",
    meaning: "A manifest needs four levels. The rest of the file was not read.",
    cure: ["Look for brackets or dashes that were repeated by mistake."],
  },
  "duplicate-key": {
    title: "A key is in its mapping twice",
    meaning: "Only one of the two values can be meant, and the file does not tell which.",
    cure: ["Keep one of the two lines that are shown."],
  },
  "key-collision": {
    title: "Two keys differ only in how Unicode writes them",
    meaning:
      "The keys look the same and are the same text after normalisation (NFKC), so one of them is a mistake.",
    cure: ["Keep one of the two, typed anew."],
  },
  "bad-key": {
    title: "A key is not a plain word",
    meaning: "A list, a mapping, an alias or nothing stands where the name of a key belongs.",
    cure: ["Write the name of the key before the colon, on one line."],
  },
  "merge-key": {
    title: 'The merge key "<<" is not part of YAML 1.2',
    meaning:
      "Merging keys from elsewhere was an extension of YAML 1.1. Other readers of YAML 1.2 would ignore it.",
    cure: ["Write the keys out. An alias can stand for a whole value: `description: *text`."],
  },
  "unknown-alias": {
    title: "An alias has no anchor before it",
    meaning: "`*name` repeats the value marked `&name` above it in the same document, and there is none.",
    cure: [
      "Correct the name, or put the anchor above its first use; anchors do not reach past `---`.",
      "To mean a text that starts with an asterisk, put it in quotes.",
    ],
  },
  "cyclic-alias": {
    title: "An alias stands inside the value that it repeats",
    meaning: "The value would contain itself without end.",
    cure: ["Write out what is meant instead of the alias."],
  },
  "alias-bomb": {
    title: "The aliases of a document stand for too many values",
    meaning:
      "Aliases of lists of aliases multiply: written out, they are more than 100,000 values. That is more than any manifest needs, and enough to exhaust a machine.",
    cure: ["Write the values out, or use fewer aliases."],
  },
  "empty-file": {
    title: "The file is empty, or holds only comments",
    meaning:
      "A manifest that was emptied by accident would ask to remove everything that it declared, so an empty file is an error.",
    cure: ["Write a document into it, or remove the file."],
  },
  "second-document": {
    title: "A second document starts in a file that must have one",
    meaning:
      "Manifests may hold several documents, separated by `---`; a config or a file of settings may not.",
    cure: ["Remove the line with `---` and what follows it."],
  },
} as const satisfies Readonly<Record<string, ErrorPage>>;
