import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmod, chown, mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, inject, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { z } from "zod";
import { type Sandbox, startSandbox } from "../../src/sandbox/server.ts";
import { draftsync, type Running, startDraftsync } from "../support/cli.ts";
import { filesBelow, readText } from "../support/source-files.ts";
import { skipNoteUnreachable } from "../support/unprivileged.ts";
import { askServer, rolePassword } from "../unit/ledger/samples.ts";

/** The database of the examples, which has no TLS. */
const exampleDatabase = "draftsync@postgres/draftsync?sslmode=disable";
const timeout = 60_000;
const accounts = ["lantern", "harbor"];

let folder = "";
let sandbox: Sandbox;
let name = "";
let running: Running[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "draftsync-fleet-example-"));
  sandbox = await startSandbox({ key: "fleet", accounts: 2 });
  name = `example_${randomBytes(4).toString("hex")}`;
  running = [];
  await askServer(`create role ${name} login password '${rolePassword}'`);
  await askServer(`create database ${name} owner ${name}`);
});
afterEach(async () => {
  for (const each of running) {
    each.kill("SIGTERM");
    await each.ended;
  }
  await sandbox.close();
  await askServer(`drop database ${name} with (force)`);
  await askServer(`drop role ${name}`);
  await rm(folder, { recursive: true, force: true });
});

/** The location of the test's database in the notation of the examples. */
function databaseHere(): string {
  return `${name}@${new URL(inject("databaseUrl")).host}/${name}?sslmode=disable`;
}

/** Copies part of an example and replaces its addresses by those of the test. */
async function copyExample(from: string, to: string, replacements: Readonly<Record<string, string>>) {
  for (const { path, text } of filesBelow(`examples/${from}`, ".yaml")) {
    const all = {
      [exampleDatabase]: databaseHere(),
      "https://api.example.com": sandbox.url,
      ...replacements,
    };
    const here = Object.entries(all).reduce((result, [old, now]) => result.replaceAll(old, now), text);
    const file = join(to, path.slice(`examples/${from}/`.length));
    await mkdir(join(file, ".."), { recursive: true });
    await writeFile(file, here);
  }
}

async function writeKeys(keys: string): Promise<void> {
  await mkdir(keys, { recursive: true });
  for (const [index, account] of accounts.entries())
    await writeFile(join(keys, account), `fleet-${index + 1}\n`);
}

/** The URL that a command reports to listen on. */
async function urlOf(started: Running): Promise<string> {
  const url = /http:\/\/[\d.:]+/;
  await expect.poll(started.stderr, { timeout }).toMatch(url);
  return url.exec(started.stderr())?.[0] ?? "";
}

/** Number of attachments in each account. */
const attached = () => sandbox.accounts.map(({ state }) => state().attachments.length);

const serviceSchema = z.strictObject({
  image: z.string(),
  build: z.literal(".").optional(),
  user: z.string().optional(),
  working_dir: z.string().optional(),
  volumes: z.array(z.string()).optional(),
  environment: z.record(z.string(), z.string()),
  read_only: z.literal(true).optional(),
  tmpfs: z.array(z.string()).optional(),
  cap_drop: z.array(z.literal("ALL")).optional(),
  security_opt: z.array(z.string()).optional(),
  command: z.array(z.string()).optional(),
  scale: z.int().optional(),
  ports: z.array(z.string().startsWith("127.0.0.1:")).optional(),
  depends_on: z.record(z.string(), z.strictObject({ condition: z.string() })).optional(),
  healthcheck: z
    .strictObject({
      test: z.array(z.string()),
      interval: z.string().optional(),
      retries: z.int().optional(),
    })
    .optional(),
  stop_grace_period: z.string().optional(),
  restart: z.string().optional(),
});

describe("examples/compose", () => {
  const { services } = z
    .object({ services: z.record(z.string(), serviceSchema) })
    .parse(parse(readText("examples/compose/compose.yaml"), { merge: true }));
  const service = (key: string) => services[key] ?? expect.fail(`no service ${key}`);
  const commands = [
    ...readText("examples/compose/README.md").matchAll(
      /^ *docker compose run --rm (\w+)(.*?)(?: {2,}#.*)?$/gm,
    ),
  ].map(([, from = "", args = ""]) => (args === "" ? (service(from).command ?? []) : args.trim().split(" ")));

  test("starts its services, and the commands of its README succeed", async () => {
    await copyExample("compose", folder, {});
    await writeKeys(join(folder, "keys"));
    const { environment, healthcheck, scale = 1 } = service("worker");
    expect(Object.keys(environment)).toEqual(["PGPASSWORD"]);
    const options = { cwd: folder, env: { PGPASSWORD: rolePassword } };
    const start = (key: string) => {
      const args = service(key).command ?? [];
      const local = args.map((each) => (/^:\d+$/.test(each) ? "127.0.0.1:0" : each));
      const started = startDraftsync(local, options);
      running.push(started);
      return started;
    };
    expect(await start("apply").ended).toMatchObject({ code: 0 });
    const workers = Array.from({ length: scale }, () => start("worker"));
    expect(workers).toHaveLength(2);
    const [, program = "", ...args] = healthcheck?.test ?? [];
    const local = args.map((each) => each.replace("http://127.0.0.1:9091", "URL"));
    for (const worker of workers) {
      const url = await urlOf(worker);
      await promisify(execFile)(
        program,
        local.map((each) => each.replace("URL", url)),
      );
    }
    const applies = commands.filter(([first]) => first === "apply");
    expect(applies).toHaveLength(accounts.length);
    for (const each of applies) {
      const args = [...each, "--auto-approve", "--lock-timeout", "30s"];
      expect(await draftsync(args, options)).toMatchObject({ code: 0 });
    }
    expect(attached()).toEqual([2, 2]);
    for (const each of commands.filter(([first]) => first !== "apply")) {
      expect(await draftsync(each, options), each.join(" ")).toMatchObject({ code: 0 });
    }
    await draftsync(["fleet", "run", "--all"], options);
    const statuses = async () => (await draftsync(["fleet", "status"], options)).stdout;
    await expect.poll(statuses, { timeout }).toMatch(/ok +harbor .*\nok +lantern /);
    const page = await fetch(await urlOf(start("status")));
    expect(await page.text()).toContain("lantern");
  });
});

const podSchema = z.object({
  securityContext: z.object({ runAsUser: z.number() }),
  containers: z.tuple([
    z.object({
      args: z.array(z.string()),
      env: z.array(z.object({ name: z.string(), value: z.string() })),
    }),
  ]),
});

describe("examples/kubernetes/fleet", () => {
  const note = skipNoteUnreachable();
  const documents = filesBelow("examples/kubernetes/fleet", ".yaml").flatMap(({ text }) =>
    parseAllDocuments(text),
  );
  const podOf = (kind: string, owner: string) => {
    const object = documents
      .map((each) => each.toJS())
      .find((each) => each.kind === kind && each.metadata.name === owner);
    return podSchema.parse((object.spec.jobTemplate ?? object).spec.template.spec);
  };
  const uid =
    process.getuid?.() === 0 ? podOf("Deployment", "draftsync-worker").securityContext.runAsUser : undefined;
  /** Replaces paths of the pod by paths in the test folder. */
  const here = (text: string) =>
    text.replaceAll(/(?<=^| )\/(repository|secrets|recovery)\b/g, `${folder}/$1`);

  /** Checks out a commit as git-sync does: in its own folder, with a link to the current one. */
  async function checkOut(commit: string, replacements: Readonly<Record<string, string>> = {}) {
    const tree = join(folder, "repository/.worktrees", commit);
    await copyExample("kubernetes/fleet/repository", tree, {
      "/secrets/keys": `${folder}/secrets/keys`,
      ...replacements,
    });
    await symlink(`.worktrees/${commit}`, join(folder, "repository/next"));
    await rename(join(folder, "repository/next"), join(folder, "repository/current"));
  }

  /** Options to start a container of the pod. */
  function optionsOf(kind: string, owner: string) {
    const [{ env }] = podOf(kind, owner).containers;
    return { cwd: folder, uid, env: Object.fromEntries(env.map((each) => [each.name, here(each.value)])) };
  }

  function start(kind: string, owner: string): Running {
    const [{ args }] = podOf(kind, owner).containers;
    const local = args.map((each) => (/^:\d+$/.test(each) ? "127.0.0.1:0" : here(each)));
    const started = startDraftsync(local, optionsOf(kind, owner));
    running.push(started);
    return started;
  }

  test.skipIf(note !== "")(
    `reconciles the commit that git-sync checked out, with secrets from files${note}`,
    async () => {
      await writeKeys(join(folder, "secrets/keys"));
      await mkdir(join(folder, "secrets/postgres"));
      const { hostname, port } = new URL(inject("databaseUrl"));
      const passwords = join(folder, "secrets/postgres/pgpass");
      await writeFile(passwords, `${hostname}:${port}:${name}:${name}:${rolePassword}\n`);
      await chmod(passwords, uid === undefined ? 0o400 : 0o440);
      await mkdir(join(folder, "recovery"));
      if (uid !== undefined) await chown(join(folder, "recovery"), uid, uid);
      await chmod(folder, 0o755);
      await checkOut("a1");
      expect(await start("CronJob", "draftsync-apply").ended).toMatchObject({ code: 0 });
      start("Deployment", "draftsync-worker");
      start("Deployment", "draftsync-worker");
      const inWorker = optionsOf("Deployment", "draftsync-worker");
      const steps = readText("examples/kubernetes/fleet/README.md");
      const [, first = ""] = /-- draftsync (apply --config .*)/.exec(steps) ?? [];
      for (const account of accounts) {
        const args = here(first).replace("lantern", account).split(" ");
        const ended = await draftsync([...args, "--auto-approve", "--lock-timeout", "30s"], inWorker);
        expect(ended).toMatchObject({ code: 0 });
      }
      expect(attached()).toEqual([2, 2]);
      await checkOut("b2", { "at dusk": "at dawn" });
      const fleet = ["--fleet", join(folder, "repository/current/fleet.yaml")];
      expect(await draftsync(["fleet", "run", "--all", ...fleet], inWorker)).toMatchObject({ code: 0 });
      const descriptions = () =>
        sandbox.accounts[1]?.state().attachments.map(({ attributes }) => attributes.description);
      await expect.poll(descriptions, { timeout }).toContain("The crane at dawn, with its hook down.");
      const shown = await fetch(await urlOf(start("Deployment", "draftsync-status")));
      expect(await shown.text()).toContain("harbor");
    },
  );
});
