import { chmod, chown, cp, mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { z } from "zod";
import { draftsync, startDraftsync } from "../support/cli.ts";
import { skipNote } from "../support/shells.ts";
import { readText } from "../support/source-files.ts";
import { skipNoteUnreachable } from "../support/unprivileged.ts";
import { freshSchema } from "../unit/ledger/samples.ts";
import { type Example, runProgram, startExample } from "./support/example.ts";

const timeout = 60_000;
const deploy = "examples/kubernetes/deploy";
const probe = z.object({ httpGet: z.object({ path: z.string(), port: z.literal("metrics") }) });
const podSchema = z.object({
  securityContext: z.object({ runAsUser: z.number() }),
  containers: z.tuple([
    z.object({
      args: z.array(z.string()),
      volumeMounts: z.array(z.object({ name: z.string(), mountPath: z.string() })),
      envFrom: z.array(z.object({ secretRef: z.object({ name: z.string() }) })),
      livenessProbe: probe.optional(),
      readinessProbe: probe.optional(),
    }),
  ]),
});
const template = z.object({ spec: podSchema });
const cronJob = z.object({
  spec: z.object({ jobTemplate: z.object({ spec: z.object({ template }) }) }),
});
const { spec: onceSpec } = cronJob.parse(parse(readText(`${deploy}/cronjob/cronjob.yaml`))).spec.jobTemplate
  .spec.template;
const { spec: staySpec } = z
  .object({ spec: z.object({ template }) })
  .parse(parse(readText(`${deploy}/service/deployment.yaml`))).spec.template;
const { stringData } = z
  .object({ stringData: z.record(z.string(), z.string()) })
  .parse(parse(readText(`${deploy}/secret.example.yaml`)));

let example: Example;
beforeAll(async () => {
  example = await startExample("kubernetes");
  await mkdir(`${example.path}/.draftsync`);
  await example.folder.write({ "tmp/.keep": "" });
  // As in the pod, only mounted folders are writable.
  for (const path of [`${example.path}/.draftsync`, `${example.folder.path}/tmp`]) {
    if (uid !== undefined) await chown(path, uid, uid);
  }
  for (const path of [example.folder.path, example.path]) await chmod(path, 0o555);
});
afterAll(async () => {
  for (const path of [example.folder.path, example.path]) await chmod(path, 0o755);
  await example.close();
});

/** The user of the pod, if the tests run as root and can change it. */
const uid = process.getuid?.() === 0 ? onceSpec.securityContext.runAsUser : undefined;

/** The environment of the pod, with the key of the test and a ledger in PostgreSQL. */
function inPod(state: string) {
  expect(Object.keys(stringData)).toEqual(["DRAFTSYNC_API_KEY", "DRAFTSYNC_STATE"]);
  expect(stringData.DRAFTSYNC_STATE).toMatch(/^postgres:\/\/.*\?schema=\w+$/);
  const env = { ...example.env, HOME: `${example.folder.path}/tmp`, DRAFTSYNC_STATE: state };
  return { cwd: example.path, uid, env };
}

describe("pods of examples/kubernetes", () => {
  test("mount a persistent volume at the recovery log's folder and a temporary one at /tmp", () => {
    for (const { containers } of [onceSpec, staySpec])
      expect(containers[0].volumeMounts).toEqual([
        { name: "recovery", mountPath: "/workspace/.draftsync" },
        { name: "tmp", mountPath: "/tmp" },
      ]);
    expect(readText("examples/kubernetes/Dockerfile")).toMatch(/HOME=\/tmp\nWORKDIR \/workspace\n/);
  });

  const note = skipNoteUnreachable();
  test.skipIf(note !== "")(`complete one run and write nothing into the image${note}`, async () => {
    const state = freshSchema();
    expect(await draftsync(onceSpec.containers[0].args, inPod(state))).toMatchObject({ code: 0 });
    expect(example.sandbox.state().attachments.map(({ fileId }) => fileId)).toEqual([9900011, 9900044]);
    const left = await readdir(`${example.path}/.draftsync`, { recursive: true, withFileTypes: true });
    const files = left.filter((entry) => entry.isFile()).map(({ name }) => name);
    expect(files).toEqual([expect.stringMatching(/^lantern-hill-[0-9a-f]{8}\.recovery\.ndjson\.reserve$/)]);
    const listed = await draftsync(["state", "list"], inPod(state));
    expect(listed.stdout).toContain("drafts/48213/product_files/9900011");
  });

  test.skipIf(note !== "")(
    `keep running, report health, readiness and metrics, and exit with 0 on SIGTERM${note}`,
    async () => {
      const [{ args, livenessProbe, readinessProbe }] = staySpec.containers;
      const local = args.map((each) => (each === ":9090" ? "127.0.0.1:0" : each));
      expect(local).not.toEqual(args);
      const service = startDraftsync(local, inPod(freshSchema()));
      await expect.poll(service.stderr, { timeout }).toMatch(/ ok: .*; next at /);
      const [, url = ""] = /listening on (\S+)/.exec(service.stderr()) ?? [];
      for (const each of [livenessProbe, readinessProbe])
        expect((await fetch(`${url}${each?.httpGet.path}`)).status).toBe(200);
      expect(await (await fetch(`${url}/metrics`)).text()).toContain('draftsync_runs_total{status="ok"');
      service.kill("SIGTERM");
      expect((await service.ended).code).toBe(0);
    },
  );

  const kubectl = skipNote("kubectl");
  test.skipIf(kubectl !== "").each(["cronjob", "service"])(
    `are assembled by Kustomize: %s${kubectl}`,
    async (name) => {
      const { code, stdout } = await runProgram("kubectl", ["kustomize", `${example.path}/deploy/${name}`], {
        cwd: example.path,
        env: { PATH: process.env.PATH ?? "", HOME: `${example.folder.path}/tmp` },
      });
      expect(code).toBe(0);
      const kinds = parseAllDocuments(stdout).map(
        (document) => z.object({ kind: z.string() }).parse(document.toJS()).kind,
      );
      const common = ["NetworkPolicy", "PersistentVolumeClaim", "ServiceAccount"];
      expect(kinds.sort()).toEqual(
        [...common, ...(name === "cronjob" ? ["CronJob"] : ["Deployment", "Service"])].sort(),
      );
      expect(stdout).toContain("image: registry.example.com/lantern-hill-drafts:0.1.0\n");
    },
  );
});

test("the image of examples/kubernetes has draftsync on its path and starts a run", async () => {
  const builder = await startExample("kubernetes");
  try {
    const dockerfile = readText("examples/kubernetes/Dockerfile");
    const [, run = ""] = /^RUN (.*)$/m.exec(dockerfile) ?? [];
    const opt = `${builder.folder.path}/opt/draftsync`;
    const { env } = builder;
    const copied = [...dockerfile.matchAll(/^COPY (?!--from|\. \.)(.*) (\S+)$/gm)];
    expect(copied).toHaveLength(2);
    for (const [, names = "", to = ""] of copied) {
      for (const name of names.split(" "))
        await cp(join(builder.path, name), join(opt, to, to === "./" ? name : ""), { recursive: true });
    }
    expect(await runProgram("sh", ["-c", run], { cwd: opt, env })).toMatchObject({ code: 0 });
    const [, entry] = /^ENTRYPOINT \["(.*)"\]$/m.exec(dockerfile) ?? [];
    const [, command = "[]"] = /^CMD (\[.*\])$/m.exec(dockerfile) ?? [];
    const [, path = ""] = /^ENV PATH=(\S+):\$PATH/m.exec(dockerfile) ?? [];
    const PATH = `${path.replace("/opt/draftsync", opt)}:/usr/bin:/bin`;
    const args = z.array(z.string()).parse(JSON.parse(command));
    // As in the container, the program is found through the path of the image.
    const ended = await runProgram("env", [entry ?? "", ...args], {
      cwd: builder.path,
      env: { ...env, PATH },
    });
    expect(ended).toMatchObject({ code: 0 });
    expect(builder.sandbox.state().attachments).toHaveLength(2);
  } finally {
    await builder.close();
  }
});
