// Creates a fleet in a folder for the tests, `npm run demo:fleet`, the chaos run and the benchmark.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** The key of the sandbox; that of account 3 is `fleet-3`. */
export const key = "fleet";

export async function makeFleet({
  folder,
  url,
  databaseUrl,
  names,
  prefix = "fleet",
  every = "15m",
  files = 3,
  more = "",
  accountOf = (index) => index + 1,
}) {
  const at = (schema) => `${databaseUrl.replace(/:\/\/([^:@]+):[^@]*@/, "://$1@")}?schema=${schema}`;
  await mkdir(join(folder, "keys"), { recursive: true });
  for (const [index, name] of names.entries()) {
    const root = join(folder, "accounts", name);
    await mkdir(join(root, "manifests"), { recursive: true });
    await writeFile(join(folder, "keys", name), `${key}-${accountOf(index)}\n`, { mode: 0o600 });
    await writeFile(
      join(root, "draftsync.yaml"),
      [
        "version: 1",
        `workspace: ${name}`,
        `service: { base_url: "${url}", api_key_file: ../../keys/${name} }`,
        `state: ${at(`${prefix}_${name.replaceAll("-", "_")}`)}`,
        "reconcile: { allow: [create, update, delete] }",
        "",
      ].join("\n"),
    );
    await writeFile(join(root, "manifests", "draft.yaml"), manifestOf(index, files));
  }
  await writeFile(
    join(folder, "fleet.yaml"),
    [
      "version: 1",
      `database: ${at(`${prefix}_table`)}`,
      `every: ${every}`,
      'workspaces: ["accounts/*/draftsync.yaml"]',
      more,
      "",
    ].join("\n"),
  );
}

export function manifestOf(index, files, description = "A dragon on a rock") {
  const lines = [`draft: ${1000 + index}`, "promotional_files:"];
  for (let file = 0; file < files; file += 1) {
    lines.push(`  - file_id: ${100_000 * (index + 1) + file}`, `    description: ${description} ${file}`);
  }
  return `${lines.join("\n")}\n`;
}
