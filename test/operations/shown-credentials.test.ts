import { expect, test } from "vitest";
import { useWorkspace } from "../support/workspace.ts";

const { proxy, run } = useWorkspace({ files: { "manifests/a.yaml": "draft: 1\nproduct_files: []\n" } });

test("uploads credentials hides a secret that the service repeats in another member", async () => {
  const secret = "storage+secret/value-99";
  const token = "session-token-value-88";
  const attributes = {
    key_prefix: `in/${token}/`,
    bucket: secret,
    region: "eu",
    access_key: "AKIDEXAMPLE1",
    secret_key: secret,
    session_token: token,
    endpoint: `https://AKIDEXAMPLE1:${encodeURIComponent(secret)}@storage.example.com/?token=${token}`,
  };
  const body = JSON.stringify({ data: { type: "upload_credential", id: "1", attributes } });
  const headers = { "content-type": "application/vnd.api+json" };
  proxy.choose = () => ({ type: "answer", status: 201, headers, body });
  const { code, stdout } = await run("uploads", "credentials");
  expect(code).toBe(0);
  expect(stdout).toContain("storage.example.com");
  expect(stdout).not.toMatch(/secret.value|session-token/);
  const shown = JSON.parse((await run("uploads", "credentials", "--show-secrets")).stdout);
  expect(shown).toMatchObject({ endpoint: attributes.endpoint, secret_key: secret });
});
