import { spawn } from "node:child_process";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import { main } from "./cli.ts";
import { readText, repository } from "./source-files.ts";

/** A block of a page that is run or written to a file, with its documented output. */
interface PageBlock {
  /** The file of a block of YAML whose first line is its name. */
  readonly file: string | undefined;
  readonly commands: string;
  /** The output block directly after it; undefined without one. */
  readonly output: string | undefined;
  /** Where that output begins in the page. */
  readonly outputAt: number;
  /** The codes of its comments `# exit code N`, in order; commands without one end with 0. */
  readonly codes: readonly number[];
}

/** Options to run a page. */
export interface PageRun {
  /** The initial folder of the commands. */
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Beginnings of blocks that are not run, such as `npm ci`. */
  readonly skip?: readonly string[];
  /** Actions directly before the block with this beginning. */
  readonly before?: Readonly<Record<string, () => Promise<unknown>>>;
  /** Values that differ from run to run, such as the address of a sandbox, with their text in the page. */
  readonly same?: Readonly<Record<string, string>>;
}

/** A page after its commands were run: unchanged if its output is right. */
interface TriedPage {
  readonly text: string;
  /** Each block whose exit codes differ from the documented ones. */
  readonly wrongCodes: readonly string[];
}

const blockPattern = /^```(?:sh|yaml\n# (\S+))\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?/gms;

/** The blocks of shell commands of a page, each with its output. */
function blocksOf(page: string): PageBlock[] {
  return [...page.matchAll(blockPattern)].map(
    ({ 0: whole, 1: file, 2: commands = "", 3: output, index }) => ({
      file,
      commands,
      output,
      outputAt: index + whole.length - "```\n".length - (output ?? "").length,
      codes: [...commands.matchAll(/# exit code (\d+)/g)]
        .map(([, code]) => Number(code))
        .filter((code) => code !== 0),
    }),
  );
}

/**
 * Runs the shell blocks of a page in order, in one shell, with `draftsync` as the real binary, and inserts their output into
 * the page. A block of YAML that begins with the name of a file, as in `# draftsync.yaml`, is written to it. Output that differs
 * only in times, durations and ids stays unchanged. Throws when no block has a beginning in `run`.
 */
async function tryPage(page: string, run: PageRun): Promise<TriedPage> {
  const { skip = [], before = {}, same = {} } = run;
  const blocks = blocksOf(page);
  const isSkipped = ({ commands }: PageBlock) => skip.some((start) => commands.startsWith(start));
  const missing = [...skip, ...Object.keys(before)].filter(
    (start) => !blocks.some(({ commands }) => commands.startsWith(start)),
  );
  if (missing.length > 0) throw new Error(`no block begins with ${missing.join(", or ")}`);
  const shell = await openShell(run);
  const wrongCodes: string[] = [];
  let text = "";
  let taken = 0;
  const tryBlock = async (block: PageBlock) => {
    for (const [start, act] of Object.entries(before)) if (block.commands.startsWith(start)) await act();
    const ended = await shell.run(withValues(block.commands, same));
    if (ended.codes.join() !== block.codes.join()) {
      wrongCodes.push(
        `${block.commands}exit codes ${block.codes.join()} documented, ${ended.codes.join()} returned:\n${ended.output}`,
      );
    }
    if (block.output === undefined) return;
    const output = withNames(ended.output, same);
    if (settled(output) === settled(block.output)) return;
    text += page.slice(taken, block.outputAt) + output;
    taken = block.outputAt + block.output.length;
  };
  try {
    for (const block of blocks) {
      if (isSkipped(block)) continue;
      if (block.file === undefined) await tryBlock(block);
      else await writeBelow(run.cwd, block.file, withValues(block.commands, same));
    }
  } finally {
    await shell.close();
  }
  return { text: text + page.slice(taken), wrongCodes };
}

async function writeBelow(folder: string, name: string, text: string): Promise<void> {
  await mkdir(dirname(join(folder, name)), { recursive: true });
  await writeFile(join(folder, name), text);
}

/** Compares a page (its path in the repository) with the result of {@link tryPage}, or updates it with snapshots. */
export async function checkPage(path: string, run: PageRun): Promise<void> {
  const { text, wrongCodes } = await tryPage(readText(path), run);
  expect(wrongCodes).toEqual([]);
  const fix = "its commands write something else: `npm run docs` puts that into the page";
  await expect(text, fix).toMatchFileSnapshot(`${repository}${path}`);
}

function withValues(commands: string, same: Readonly<Record<string, string>>): string {
  let meant = commands;
  for (const [value, name] of Object.entries(same)) meant = meant.replaceAll(name, value);
  return meant;
}

function withNames(output: string, same: Readonly<Record<string, string>>): string {
  let named = output;
  for (const [value, name] of Object.entries(same)) named = named.replaceAll(value, name);
  return `${named.replace(/^\n+/, "").trimEnd()}\n`;
}

/** Removes differences between runs: times, durations, ids, and the order in which calls ended. */
function settled(output: string): string {
  return output
    .replace(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?( UTC|Z)?/g, "<time>")
    .replace(/\b\d\d:\d\d:\d\d\b/g, "<time>")
    .replace(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, "<id>")
    .replace(/just now|\b\d+(\.\d+)? (ms|s|min|h|days?)( ago)?\b/g, "<while>")
    .replace(/ +/g, " ")
    .replace(/(^.*<while>\)?.*\n)+/gm, (lines) => lines.split("\n").sort().join("\n"));
}

interface Shell {
  run(commands: string): Promise<{ readonly output: string; readonly codes: readonly number[] }>;
  close(): Promise<void>;
}

/** One bash for all blocks, which keeps folders and variables; both streams have the order of a terminal. */
async function openShell({ cwd, env = {} }: PageRun): Promise<Shell> {
  const bin = await mkdtemp(join(tmpdir(), "draftsync-bin-"));
  const command = `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`;
  await writeFile(join(bin, "draftsync"), command);
  await chmod(join(bin, "draftsync"), 0o755);
  const child = spawn("bash", ["--noprofile", "--norc"], {
    cwd,
    env: { PATH: `${bin}:${process.env.PATH}`, HOME: cwd, ...env },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const closed = new Promise<void>((done) => child.once("close", () => done()));
  let written = "";
  let onText = () => {};
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    written += text;
    onText();
  });
  child.stdin.write("trap 'codes+=($?)' ERR\n");
  let count = 0;
  return {
    run: (commands) => {
      count += 1;
      const end = new RegExp(`end of block ${count}:([ \\d]*)\n`);
      written = "";
      child.stdin.write(
        `codes=()\n{\n${commands}\n} </dev/null 2>&1\necho "end of block ${count}: \${codes[*]}"\n`,
      );
      return new Promise((done, failed) => {
        onText = () => {
          const found = end.exec(written);
          if (found === null) return;
          const codes = (found[1] ?? "").trim().split(" ").filter(Boolean).map(Number);
          done({ output: written.slice(0, found.index), codes });
        };
        void closed.then(() => failed(new Error(`the shell ended in ${commands}\n${written}`)));
      });
    },
    close: async () => {
      child.stdin.end();
      await closed;
      await rm(bin, { recursive: true });
    },
  };
}
