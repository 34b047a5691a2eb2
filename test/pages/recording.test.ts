import { expect, onTestFinished, test } from "vitest";
import { type Folder, makeFolder } from "../support/cli.ts";
import { type Screen, type StyledText, startOnScreen } from "../support/screen.ts";
import { repository } from "../support/source-files.ts";
import { type Frame, formatRecording } from "../support/terminal-svg.ts";

const size = { columns: 100, rows: 40 };
const yes = "yes";

const serpent = `draft: 48213
title: Sea Serpent
product_files:
  - file_id: 9900011
    file_format: fbx
    renderer_version: "7.2"
promotional_files:
  - file_id: 9900016
    description: One turn of the sea serpent in twelve seconds.
publish: true
`;

const lighthouse = `draft: 48214
title: Old Lighthouse
product_files:
  - { file_id: 9900021, file_format: blend }
publish: true
`;

function plain(text: string, color?: number): StyledText {
  return { text, bold: false, dim: false, ...(color === undefined ? {} : { color }) };
}

/** Replaces times, which differ between runs. */
function withoutTimes(texts: readonly StyledText[]): readonly StyledText[] {
  const replaced = (text: string) =>
    text.replaceAll(/\b\d+ (?:s|min) ago/g, "just now").replaceAll(/\b[\d.]+ m?s\b(?! at)/g, "90 ms");
  return texts.map((each) => ({ ...each, text: replaced(each.text) }));
}

async function record(
  folder: Folder,
  args: readonly string[],
  answer = "",
  columns = size.columns,
): Promise<Screen> {
  const screen = await startOnScreen(args, { cwd: folder.path, columns, rows: size.rows });
  if (answer !== "") {
    await screen.until((lines) => lines.some((line) => line.includes("Apply these changes?")));
    screen.type(`${answer}\r`);
  }
  expect(await screen.ended).toBe(0);
  return screen;
}

function frame(command: string, screen: Screen, seconds: number): Frame {
  const prompt = [plain("$ ", 2), plain(command)];
  return { lines: [prompt, [], ...screen.styledLines().map(withoutTimes)], seconds };
}

test("the recording in the README shows what the commands print", async () => {
  const folder = await makeFolder({
    "draftsync.yaml": "version: 1\nworkspace: shop\nservice: sandbox\n",
    "manifests/sea-serpent.yaml": serpent,
  });
  onTestFinished(() => folder.dispose());
  await record(folder, ["apply", "--auto-approve", "--new-ledger"]);
  await folder.write({
    "manifests/sea-serpent.yaml": serpent.replace("7.2", "7.3").replace("twelve", "ten"),
    "manifests/old-lighthouse.yaml": lighthouse,
  });
  const frames = [
    frame("draftsync plan", await record(folder, ["plan"]), 7),
    frame("draftsync apply", await record(folder, ["apply", "--concurrency", "1"], yes), 6),
    frame("draftsync plan", await record(folder, ["plan"]), 3),
  ];
  const svg = formatRecording(frames, size.columns, "draftsync plan, apply, and plan again");
  await expect(svg).toMatchFileSnapshot(`${repository}docs/images/recording.svg`);
});

test.each([80, 120])(
  "the picture of a terminal with %i columns shows what the commands print",
  async (columns) => {
    const manifests = Object.fromEntries(
      ["Sea Serpent", "Old Lighthouse", "Brass Diving Helmet"].map((title, at) => [
        `manifests/${title.toLowerCase().replaceAll(" ", "-")}.yaml`,
        serpent
          .replace("48213", `${48213 + at}`)
          .replace("Sea Serpent", title)
          .replaceAll("99000", `99${at}00`),
      ]),
    );
    const folder = await makeFolder({
      "draftsync.yaml": "version: 1\nworkspace: shop\nservice: sandbox\n",
      ...manifests,
    });
    onTestFinished(() => folder.dispose());
    await record(folder, ["apply", "--auto-approve"]);
    await folder.write({ "manifests/sea-serpent.yaml": serpent.replace("7.2", "7.3") });
    const shown = async (...args: string[]) => {
      const screen = await record(folder, args, "", columns);
      const words = args.map((word) => (word.includes(" ") ? `"${word}"` : word));
      return frame(`draftsync ${words.join(" ")}`, screen, 1).lines.filter((line) => line.length > 0);
    };
    const lines = [
      ...(await shown("plan", "--summary")),
      [],
      ...(await shown("state", "list")),
      [],
      ...(await shown("plan", "--target", "Sea Serpent")),
    ];
    const svg = formatRecording([{ lines, seconds: 1 }], columns, `draftsync on ${columns} columns`);
    const dated = svg.replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d/g, "2026-11-21 18:30");
    await expect(dated).toMatchFileSnapshot(`${repository}docs/images/terminal-${columns}.svg`);
  },
);
