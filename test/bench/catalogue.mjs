// A workspace as large as wanted, the same for the same seed: manifests with believable prose in several scripts, and a
// ledger in which everything is as desired.
import { createWriteStream, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { finished } from "node:stream/promises";
import { makeRandom } from "../support/random.mjs";

const formats = ["fbx", "obj", "blender", "max", "c4d", "usdz"];
const renderers = [
  ["arnold", "7.2"],
  ["cycles", "4.1"],
  ["vray", "6"],
  ["redshift", "3.5.24"],
];
const kindsOfProse = [
  "the dragon stands on a weathered rock lit from the left by a low sun with soft shadows and fine scales",
  "ein handgemalter Drache mit feinen Schuppen sitzt auf einem verwitterten Felsen über dem nebligen Tal",
  "дракон сидит на старой скале над туманной долиной с тонкой чешуёй и мягким светом слева",
  "古い 岩 の 上 に 座る 竜 細かい 鱗 柔らかい 影 左 から の 光 霧 の 谷",
  "تنين على صخرة قديمة فوق واد ضبابي مع حراشف دقيقة وظلال ناعمة وضوء من اليسار",
].map((text) => text.split(" "));

/**
 * Writes a workspace: `drafts` manifests of `files` attachments each, a hundred a folder, and `ledger.json`, which
 * `draftsync state import` takes. The sum of the manifests' bytes is returned.
 */
export async function writeCatalogue({ folder, drafts, files = 10, seed = 1, config }) {
  const random = makeRandom(seed);
  const pick = (list) => list[Math.floor(random() * list.length)];
  const sentence = (words, length) => Array.from({ length }, () => pick(words)).join(" ");
  const promotional = Math.floor(files * 0.3);
  mkdirSync(folder, { recursive: true });
  const ledger = createWriteStream(join(folder, "ledger.json"));
  ledger.write(ledgerHead);
  let bytes = 0;
  let fileId = 9_000_000;
  let first = true;
  const record = (draft_id, kind, attributes) => {
    const address = `drafts/${draft_id}/${kind}/${fileId}`;
    const provenance = { by: "post", at: 1_790_000_000_000 };
    const row = { draft_id, kind, file_id: fileId, address, attributes, provenance };
    ledger.write(`${first ? "" : ","}${JSON.stringify(row)}\n`);
    first = false;
  };
  for (let index = 0; index < drafts; index += 1) {
    const draft = 40_000 + index;
    const words = pick(kindsOfProse);
    const lines = [`draft: ${draft}`, "product_files:"];
    for (let left = files - promotional; left > 0; left -= 1, fileId += 1) {
      const [renderer, renderer_version] = pick(renderers);
      const format_version = String(2010 + Math.floor(random() * 16));
      const attributes = {
        file_format: pick(formats),
        format_version,
        renderer,
        renderer_version,
        is_native: random() < 0.5,
      };
      lines.push(
        `  - file_id: ${fileId}`,
        `    file_format: ${attributes.file_format}`,
        `    format_version: "${format_version}"`,
        `    renderer: ${renderer}`,
        `    renderer_version: "${renderer_version}"`,
        `    is_native: ${attributes.is_native}`,
      );
      record(draft, "product_files", attributes);
    }
    if (promotional > 0) lines.push("promotional_files:");
    for (let left = promotional; left > 0; left -= 1, fileId += 1) {
      const [one, two] = [sentence(words, 12), sentence(words, 9)];
      lines.push(`  - file_id: ${fileId}`, "    description: |", `      ${one}`, `      ${two}`);
      record(draft, "promotional_files", { description: `${one}\n${two}\n` });
    }
    const below = join(folder, "manifests", String(Math.floor(index / 100)).padStart(4, "0"));
    mkdirSync(below, { recursive: true });
    const text = `${lines.join("\n")}\n`;
    bytes += Buffer.byteLength(text);
    writeFileSync(join(below, `${draft}.yaml`), text);
  }
  ledger.end(ledgerTail);
  await finished(ledger);
  writeFileSync(join(folder, "draftsync.yaml"), config);
  return bytes;
}

const origin = "https://api.example.com";

/** The service of a workspace that only plans. */
export const offline = `version: 1\nworkspace: bench\nservice: { base_url: ${origin}, rate: { limit: 10, window: 1s } }\n`;

const ledgerHead = `{ "format_version": 8, "lineage": "6b1f9a34-4a0e-4a0b-9d3b-0d5a4c3f7a11", "serial": 1,
"service_origin": "${origin}", "workspace": "bench", "confirmed_at": null, "draft_titles": [], "protected_drafts": [], "maybe_published": [], "attachments": [
`;
const ledgerTail = `], "kept_values": [], "publications": [], "duplicates": [], "uploads": [], "stored_objects": [], "refreshes": [], "versions": [], "operations": [], "runs": [] }
`;
