import { posix } from "node:path";
import { validate } from "dockerfile-utils";
import { describe, expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { z } from "zod";
import { kubernetesFaults } from "../support/kubernetes-schemas.ts";
import { filesBelow, readText } from "../support/source-files.ts";

const deploy = "examples/kubernetes/deploy";
const fleet = "examples/kubernetes/fleet";
const files = [...filesBelow(deploy, ".yaml"), ...filesBelow(fleet, ".yaml")].filter(
  ({ path }) => !path.startsWith(`${fleet}/repository/`),
);
const objectSchema = z.looseObject({ apiVersion: z.string(), kind: z.string() });
const objects = files.flatMap(({ path, text }) =>
  parseAllDocuments(text).map((document) => ({ path, object: objectSchema.parse(document.toJS()) })),
);
/** API versions of Kustomize and the Prometheus operator, which have no Kubernetes schema. */
const foreign = ["kustomize.config.k8s.io/v1beta1", "monitoring.coreos.com/v1"];

const containerSchema = z.looseObject({
  securityContext: z.looseObject({
    allowPrivilegeEscalation: z.literal(false),
    readOnlyRootFilesystem: z.literal(true),
    capabilities: z.object({ drop: z.tuple([z.literal("ALL")]) }),
  }),
});
const podSchema = z.looseObject({
  securityContext: z.looseObject({ runAsNonRoot: z.literal(true) }),
  automountServiceAccountToken: z.literal(false),
  terminationGracePeriodSeconds: z.number().min(8),
  initContainers: z.array(containerSchema).optional(),
  containers: z.array(containerSchema),
});

test.each(["compose", "kubernetes"])(
  "the Dockerfile of examples/%s is valid, and its last user is not root",
  (name) => {
    const text = readText(`examples/${name}/Dockerfile`);
    expect(validate(text)).toEqual([]);
    expect(validate(text.replace("WORKDIR /", "WORKDIR ")).map(({ message }) => message)).toHaveLength(1);
    expect([...text.matchAll(/^USER (.*)/gm)].at(-1)?.[1]).toMatch(/^[1-9]\d*:[1-9]\d*$/);
  },
);

describe("examples/kubernetes", () => {
  test.each(objects.filter(({ object }) => !foreign.includes(object.apiVersion)))(
    "$object.kind of $path is valid by the Kubernetes schemas and has no unknown field",
    async ({ object }) => {
      expect(kubernetesFaults(object)).toEqual([]);
    },
  );

  test.each([
    {
      fault: "a field of a different type",
      from: "backoffLimit: 0",
      to: "backoffLimit: none",
      at: "backoffLimit",
    },
    { fault: "a field with a slip", from: "mountPath: /tmp", to: "mountPaht: /tmp", at: "mountPaht" },
    { fault: "no schedule", from: 'schedule: "*/15 * * * *"', to: "suspend: false", at: "/spec" },
  ])("is checked against schemas that reject $fault", async ({ from, to, at }) => {
    const text = readText(`${deploy}/cronjob/cronjob.yaml`);
    expect(text).toContain(from);
    const object = objectSchema.parse(parse(text.replace(from, to)));
    expect(kubernetesFaults(object).join("\n")).toContain(at);
  });

  test("lists existing files, each once", () => {
    const listed = objects.flatMap(({ path, object }) =>
      object.kind === "Kustomization"
        ? z
            .array(z.string())
            .parse(object.resources)
            .map((name) => posix.join(posix.dirname(path), name))
        : [],
    );
    // Users add these themselves: the secrets are samples, and the monitor needs the Prometheus operator.
    const forReaders = [
      `${deploy}/secret.example.yaml`,
      `${deploy}/service/pod-monitor.yaml`,
      `${fleet}/secrets.example.yaml`,
    ];
    const wanted = objects.filter(({ object }) => object.kind !== "Kustomization").map(({ path }) => path);
    expect([...new Set(listed), ...forReaders].sort()).toEqual(
      [...new Set(wanted), `${deploy}/common`].sort(),
    );
  });

  const pods = objects.filter(({ object }) => /^(CronJob|Deployment|StatefulSet)$/.test(object.kind));
  test.each(pods)("$object.kind of $path gives its pod no unneeded right", ({ object }) => {
    const spec = z
      .looseObject({ spec: z.looseObject({ jobTemplate: z.unknown().optional() }) })
      .parse(object).spec;
    const owner = spec.jobTemplate === undefined ? object : spec.jobTemplate;
    const { template } = z
      .looseObject({
        spec: z.looseObject({ template: z.looseObject({ spec: z.unknown() }) }),
      })
      .parse(owner).spec;
    expect(podSchema.safeParse(template.spec).error).toBeUndefined();
  });
});
