import { resolve } from "node:path";
import { InvalidArgumentError } from "commander";
import { parseId } from "../../model/address.ts";
import { parseRate } from "../../model/rate.ts";
import { untilAborted } from "../../model/wait.ts";
import { plural } from "../../report/quantities.ts";
import type { FaultRules, SandboxOptions } from "../../sandbox/server.ts";
import { type Cli, collect, type DefineCommand, examples, parseDurationFlag } from "../cli.ts";
import { CliError } from "../runtime/cli-error.ts";
import { parseSettings, readGiven, sandboxKey } from "../runtime/input-files.ts";

interface SandboxFlags {
  readonly port: number;
  readonly key: string;
  readonly accounts?: number;
  readonly db?: string;
  readonly drafts?: number[];
  readonly rate?: { readonly limit: number; readonly windowMs: number };
  readonly log?: string;
  readonly behavior?: readonly string[];
  readonly processing?: number;
  readonly faults?: string;
}

/** `draftsync sandbox` */
export const defineSandbox: DefineCommand = (program, cli) => {
  program
    .command("sandbox")
    .summary("run a local copy of the service")
    .description(
      "Runs a local copy of the service, with object storage for uploads, until it is interrupted. " +
        "`--behavior` sets what the API leaves open: dataId=file|other, createStatus=201|200|202|204, " +
        "updateStatus=200|202|204, deleteStatus=204|200|202, uploadStatus=201|200|202|204, productStatus=201|200|202|204, " +
        "probe=allowed|rejected|clears, put=same|replaces|refused, doubleAttach=conflict|invalid|accepted, errors=jsonapi|problem, " +
        "mediaTypes=jsonapi|strict|lenient, unknownAttributes=refused|ignored, relationships=present|omitted, " +
        "unknownProducts=found|missing, uploadsQuery=filter[id].",
    )
    .option("--port <number>", "port on 127.0.0.1; 0 for any free port", parsePort, 4010)
    .option("--key <key>", "API key to accept", sandboxKey)
    .option(
      "--accounts <n>",
      "so many accounts, with the keys KEY-1, KEY-2, … (default: one, with KEY)",
      parseAccounts,
    )
    .option("--db <file>", "keep everything in this SQLite file (default: in memory)")
    .option("--drafts <ids>", "ids of existing drafts, comma-separated (default: every id)", parseIds)
    .option(
      "--rate <limit/window>",
      "return 429 above this rate, such as 10/1s (default: unlimited)",
      parseRateFlag,
    )
    .option("--log <file>", "append every request to this file, one JSON object a line")
    .option("--behavior <name=value>", "change how the sandbox behaves (repeatable)", collect)
    .option(
      "--processing <duration>",
      "processing time of an upload (default: 50ms)",
      parseDurationFlag("--processing", "500ms"),
    )
    .option(
      "--faults <file>",
      "inject faults by the rules in this YAML file, see docs/reference/sandbox.md (default: none)",
    )
    .addHelpText(
      "after",
      examples(
        "draftsync sandbox --db sandbox.db --rate 10/1s",
        "DRAFTSYNC_API_KEY=sandbox-key draftsync plan --base-url http://127.0.0.1:4010",
        "draftsync sandbox --behavior dataId=other --behavior updateStatus=204",
        "draftsync sandbox --faults faults.yaml --log requests.ndjson",
      ),
    )
    .action((flags: SandboxFlags) => runSandbox(cli, flags));
};

async function runSandbox({ cwd, terminal, signal }: Cli, flags: SandboxFlags): Promise<void> {
  const { startSandbox, BehaviorSchema } = await import("../../sandbox/server.ts");
  const behavior = BehaviorSchema.safeParse(Object.fromEntries((flags.behavior ?? []).map(splitBehavior)));
  if (!behavior.success) {
    const problems = behavior.error.issues
      .map(({ path, message }) => [...path, message].join(": "))
      .join("; ");
    throw new CliError(`--behavior: ${problems}`, {
      code: "invalid-flag",
      hint: "`draftsync sandbox --help` lists the settings and their values.",
    });
  }
  const { db, log, accounts, drafts, rate, processing } = flags;
  const faults = flags.faults === undefined ? undefined : await loadFaults(cwd, flags.faults);
  const options: SandboxOptions = {
    port: flags.port,
    key: flags.key,
    behavior: behavior.data,
    ...(accounts === undefined ? {} : { accounts }),
    ...(db === undefined ? {} : { db: resolve(cwd, db) }),
    ...(log === undefined ? {} : { log: resolve(cwd, log) }),
    ...(drafts === undefined ? {} : { drafts }),
    ...(rate === undefined ? {} : { rate }),
    ...(processing === undefined ? {} : { uploadProcessingMs: processing }),
    ...(faults === undefined ? {} : { faults }),
  };
  const sandbox = await startSandbox(options);
  terminal.out(`${sandbox.url}\n`);
  terminal.err(
    `The sandbox is running. In another terminal:\n` +
      `  DRAFTSYNC_API_KEY=${accounts === undefined ? flags.key : `${flags.key}-1`} draftsync plan --base-url ${sandbox.url}\n` +
      (faults === undefined
        ? ""
        : `It injects faults: ${plural(faults.rules.length, "rule")}, seed ${faults.seed}.\n`) +
      `Press Ctrl-C to stop it.\n`,
  );
  await untilAborted(signal);
  await sandbox.close();
}

async function loadFaults(cwd: string, file: string): Promise<FaultRules> {
  const { FaultRulesSchema } = await import("../../sandbox/server.ts");
  const bytes = await readGiven(resolve(cwd, file), {
    what: `the fault rules ${file}`,
    code: "faults-unreadable",
    hint: "Check the path after --faults and the permissions of the file.",
  });
  return parseSettings({ file, bytes, schema: FaultRulesSchema }).value;
}

function splitBehavior(text: string): [string, string] {
  const equals = text.indexOf("=");
  return equals < 0 ? [text, ""] : [text.slice(0, equals), text.slice(equals + 1)];
}

function parseRateFlag(text: string): { limit: number; windowMs: number } {
  const rate = parseRate(text);
  if (rate === undefined) throw new InvalidArgumentError("Use a rate such as 10/1s or 600/1m.");
  return rate;
}

function parsePort(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new InvalidArgumentError("A port is a number from 0 to 65535.");
}

function parseAccounts(text: string): number {
  const count = Number(text);
  if (/^\d{1,4}$/.test(text) && count >= 1 && count <= 1000) return count;
  throw new InvalidArgumentError("Use a number from 1 to 1000.");
}

function parseIds(text: string): number[] {
  return text.split(",").map((part) => {
    const id = parseId(part.trim());
    if (id === undefined)
      throw new InvalidArgumentError(`"${part}" is not a valid id. Use a list such as 48213,48214.`);
    return id;
  });
}
