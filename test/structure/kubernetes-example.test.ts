import { posix } from "node:path";
import { validate } from "dockerfile-utils";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { kubernetesFaults } from "../support/kubernetes-schemas.ts";
import { filesBelow, readText } from "../support/source-files.ts";

const deploy = "examples/kubernetes/deploy";
const files = filesBelow(deploy, ".yaml");
const objectSchema = z.looseObject({ apiVersion: z.string(), kind: z.string() });
const objects = files.map(({ path, text }) => ({ path, object: objectSchema.parse(parse(text)) }));
/** Of the Kustomize program and of the Prometheus operator: not among the schemas of Kubernetes. */
const foreign = ["kustomize.config.k8s.io/v1beta1", "monitoring.coreos.com/v1"];

const podSchema = z.looseObject({
  securityContext: z.looseObject({ runAsNonRoot: z.literal(true) }),
  automountServiceAccountToken: z.literal(false),
  terminationGracePeriodSeconds: z.number().min(8),
  containers: z.array(
    z.looseObject({
      securityContext: z.looseObject({
        allowPrivilegeEscalation: z.literal(false),
        readOnlyRootFilesystem: z.literal(true),
        capabilities: z.object({ drop: z.tuple([z.literal("ALL")]) }),
      }),
    }),
  ),
});

describe("examples/kubernetes", () => {
  test.each(objects.filter(({ object }) => !foreign.includes(object.apiVersion)))(
    "$path fits the schemas that Kubernetes publishes, and has no field that they do not know",
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
  ])("would not fit with $fault", async ({ from, to, at }) => {
    const text = readText(`${deploy}/cronjob/cronjob.yaml`);
    expect(text).toContain(from);
    const object = objectSchema.parse(parse(text.replace(from, to)));
    expect(kubernetesFaults(object).join("\n")).toContain(at);
  });

  test("has a Dockerfile without faults, whose last user is not root", () => {
    const text = readText("examples/kubernetes/Dockerfile");
    expect(validate(text)).toEqual([]);
    expect(validate(text.replace("WORKDIR /", "WORKDIR ")).map(({ message }) => message)).toHaveLength(1);
    expect([...text.matchAll(/^USER (.*)/gm)].at(-1)?.[1]).toMatch(/^[1-9]\d*:[1-9]\d*$/);
  });

  test("lists files that are there, and each file once", () => {
    const listed = objects.flatMap(({ path, object }) =>
      object.kind === "Kustomization"
        ? z
            .array(z.string())
            .parse(object.resources)
            .map((name) => posix.join(posix.dirname(path), name))
        : [],
    );
    // The secret is a picture, and the monitor needs the operator: both are for the reader to add.
    const singleCall = [`${deploy}/secret.example.yaml`, `${deploy}/service/pod-monitor.yaml`];
    const wanted = objects.filter(({ object }) => object.kind !== "Kustomization").map(({ path }) => path);
    expect([...new Set(listed), ...singleCall].sort()).toEqual([...wanted, `${deploy}/common`].sort());
  });

  test.each(["cronjob/cronjob.yaml", "service/deployment.yaml"])(
    "%s gives its pod no right that it does not need",
    (name) => {
      const text = readText(`${deploy}/${name}`);
      const { spec } = z.looseObject({ spec: z.looseObject({}) }).parse(parse(text));
      const nested = name.startsWith("cronjob")
        ? z.looseObject({ jobTemplate: z.looseObject({ spec: z.unknown() }) }).parse(spec).jobTemplate.spec
        : spec;
      const { template } = z.looseObject({ template: z.looseObject({ spec: z.unknown() }) }).parse(nested);
      expect(podSchema.safeParse(template.spec).error).toBeUndefined();
    },
  );
});
