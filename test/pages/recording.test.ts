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

/** Times differ from run to run. */
function withoutTimes(texts: readonly StyledText[]): readonly StyledText[] {
  const replaced = (text: string) =>
    text.replaceAll(/\b\d+ (?:s|min) ago/g, "just now").replaceAll(/\b[\d.]+ m?s\b(?! at)/g, "90 ms");
  return texts.map((each) => ({ ...each, text: replaced(each.text) }));
}

async function record(folder: Folder, args: readonly string[], answer = ""): Promise<Screen> {
  const screen = await startOnScreen(args, { cwd: folder.path, ...size });
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

test("the recording of the README is what the commands print", async () => {
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
  const svg = formatRecording(frames, size.columns);
  await expect(svg).toMatchFileSnapshot(`${repository}docs/images/recording.svg`);
});
