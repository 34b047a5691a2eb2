import { errorAreas, explanationOf } from "./catalogue.ts";
import { describeEnding } from "./page-text.ts";

const opening = `# Error codes

Every message of draftsync has a code in square brackets, which stays the same from version to version. This page has all of
them, with cause and cure. \`draftsync explain CODE\` prints the same in a terminal, \`draftsync explain\` the list, and
\`--json\` gives either to scripts. \`draftsync --help\` lists the exit codes.

<!-- Written from the table in src/cli/explain/pages: change it there, then run the test with -u (see CONTRIBUTING.md). -->
`;

/** docs/errors.md, whole. */
export function errorsMarkdown(): string {
  const contents = errorAreas.map(({ heading }) => `- [${heading}](#${anchorOf(heading)})`).join("\n");
  const areas = errorAreas.map(({ heading, about, pages }) =>
    [`## ${heading}`, about, ...Object.keys(pages).map(pageMarkdown)].join("\n\n"),
  );
  return `${[opening, contents, ...areas].join("\n\n").replace("\n\n\n", "\n\n")}\n`;
}

function pageMarkdown(code: string): string {
  const page = explanationOf(code);
  if (page === undefined) throw new TypeError(`there is no code ${code}`);
  const { title, meaning, cure, ending } = page;
  const steps = cure.map((step) => `- ${step}`).join("\n");
  const told = ending === "depends" ? [] : [describeEnding(ending)];
  return [
    `### \`${code}\``,
    `**${title}.** ${[meaning, ...told].join(" ")}`,
    ...(steps === "" ? [] : [steps]),
  ]
    .join("\n\n")
    .trimEnd();
}

/** As code hosts make it of a heading. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^a-z0-9 -]/g, "")
    .replaceAll(" ", "-");
}
