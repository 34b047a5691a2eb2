import { Argument, Command, Option } from "commander";
import { describe, expect, test } from "vitest";
import { complete, type ParsedLine } from "../../../src/cli/completion/candidates.ts";

const program = new Command("tool");
program
  .command("plan")
  .summary("show it")
  .option("--config <file>")
  .option("-t, --target <address>")
  .addOption(new Option("--format <format>").choices(["text", "json"]))
  .option("--all");
program
  .command("kinds")
  .addArgument(new Argument("<what>").choices(["one", "two"]))
  .argument("[plan]");
const state = program.command("state").summary("the ledger");
state.command("show").argument("<address>").option("--json");
state.command("rm").argument("<address...>");
program.command("explain").argument("[code]");
program.command("__secret", { hidden: true });

const many = Array.from({ length: 150 }, (_none, at) => `drafts/${1 + (at % 3)}/product_files/${100 + at}`);

function ask(
  line: string,
  addresses: readonly string[] = ["drafts/1", "drafts/1/product", "duplicates/a b"],
) {
  const parsed: ParsedLine[] = [];
  const sources = {
    addresses: async (line: ParsedLine) => {
      parsed.push(line);
      return addresses;
    },
    workspaces: async () => ["harbor", "lantern"],
    codes: async () => [{ value: "lock-held", about: "Another run\u001b[31m holds it" }],
  };
  return complete(program, line.split(" "), sources).then((completion) => ({ ...completion, parsed }));
}

const values = async (line: string, addresses?: readonly string[]) =>
  (await ask(line, addresses)).candidates.map(({ value }) => value);

describe("completion", () => {
  test.each([
    { line: "", found: ["plan", "kinds", "state", "explain", "help"] },
    { line: "st", found: ["state"] },
    { line: "state ", found: ["show", "rm", "help"] },
    { line: "plan --f", found: ["--format"] },
    { line: "plan ", found: ["--config", "--target", "--format", "--all", "--help"] },
    { line: "plan --format ", found: ["text", "json"] },
    { line: "plan --format=j", found: ["--format=json"] },
    { line: "plan --target drafts/1/", found: ["drafts/1/product"] },
    { line: "plan -t drafts/1/", found: ["drafts/1/product"] },
    { line: "plan --target=du", found: ["--target=duplicates/a b"] },
    { line: "plan --all --target d", found: ["drafts/1", "drafts/1/product", "duplicates/a b"] },
    { line: "kinds t", found: ["two"] },
    { line: "state show du", found: ["duplicates/a b"] },
    { line: "state show x ", found: ["--json", "--help"] },
    { line: "state rm x y drafts/1/p", found: ["drafts/1/product"] },
    { line: "state show -- du", found: ["duplicates/a b"] },
    { line: "explain l", found: ["lock-held"] },
    { line: "plan --nothing=", found: [] },
    { line: "unknown ", found: ["--help"] },
  ])("completes '$line'", async ({ line, found }) => {
    expect(await values(line)).toEqual(found);
  });

  test("leaves files to the shell", async () => {
    expect(await ask("plan --config dr")).toMatchObject({ kind: "files", candidates: [] });
    expect(await ask("kinds one ")).toMatchObject({ kind: "files", candidates: [] });
  });

  test("knows the command and the flags before the cursor", async () => {
    for (const given of ["--config a.yaml", "--config=a.yaml"]) {
      const [parsed] = (await ask(`plan ${given} --target d`)).parsed;
      expect(parsed).toMatchObject({ path: ["plan"], typed: "d", given: new Map([["config", "a.yaml"]]) });
    }
    expect((await ask("state rm x y")).parsed[0]?.path).toEqual(["state", "rm"]);
  });

  test("completes many addresses one level at a time", async () => {
    expect(await ask("plan --target d", many)).toMatchObject({
      kind: "nospace",
      candidates: [{ value: "drafts/1/" }, { value: "drafts/2/" }, { value: "drafts/3/" }],
    });
    expect(await values("plan --target drafts/1/", many)).toHaveLength(50);
  });

  test("omits values with control characters, and escapes them in descriptions", async () => {
    const hostile = ["drafts/1\nls", "drafts/1\u001b[2J", "drafts/1\u202e", "drafts/2"];
    expect(await values("plan --target d", hostile)).toEqual(["drafts/2"]);
    expect((await ask("explain ")).candidates[0]?.about).not.toContain("\u001b");
  });
});
