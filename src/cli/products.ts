import { InvalidArgumentError } from "commander";
import { parseId } from "../model/address.ts";
import { inertJson } from "../model/inert-json.ts";
import type { Cli, DefineCommand, WorkspaceFlags } from "./cli.ts";
import { examples, withWorkspaceFlags } from "./cli.ts";
import { CliError } from "./cli-error.ts";
import { exitCode } from "./exit-code.ts";

interface GetFlags extends WorkspaceFlags {
  readonly include?: string;
}

interface DuplicateFlags extends WorkspaceFlags {
  readonly autoApprove?: boolean;
}

/** `draftsync products get|duplicate` */
export const defineProducts: DefineCommand = (program, cli) => {
  const products = program
    .command("products")
    .summary("products, by hand")
    .description("The calls of the interface that concern products. Results are JSON.");
  withWorkspaceFlags(products.command("get"))
    .summary("read a product")
    .argument("<id>", "product id", parseProductId)
    .option("--include <relations>", "relations to include, with commas (default: those of the config)")
    .addHelpText(
      "after",
      examples("draftsync products get 771200", "draftsync products get 771200 --include draft"),
    )
    .action((id: number, flags: GetFlags) => runGet(cli, id, flags));
  withWorkspaceFlags(products.command("duplicate"))
    .summary("duplicate a product; cannot be undone")
    .description(
      "Makes a copy of a product. There is no call that takes it back, and none that tells whether a lost one took effect, " +
        "so it is asked for first. A copy that should be kept in a manifest is better written under `duplicates:`.",
    )
    .argument("<id>", "product id", parseProductId)
    .option("--auto-approve", "do not ask; needed where nobody can be asked")
    .addHelpText("after", examples("draftsync products duplicate 771200"))
    .action((id: number, flags: DuplicateFlags) => runDuplicate(cli, id, flags));
};

function parseProductId(text: string): number {
  const id = parseId(text);
  if (id === undefined) throw new InvalidArgumentError("A product id is a plain number, such as 771200.");
  return id;
}

async function runGet(cli: Cli, id: number, flags: GetFlags): Promise<void> {
  const { byHand, expectDone } = await import("./by-hand.ts");
  await byHand(cli, flags, async ({ workspace, service }) => {
    const include = flags.include?.split(",").map((name) => name.trim());
    const relations = include ?? workspace.config.service.profile.product_include;
    const product = expectDone(await service.getProduct(id, relations, cli.signal));
    cli.terminal.out(`${inertJson(product, 2)}\n`);
  });
}

async function runDuplicate(cli: Cli, id: number, flags: DuplicateFlags): Promise<void> {
  const { writeByHand } = await import("./by-hand.ts");
  await writeByHand(cli, { flags, command: "products duplicate" }, async ({ service, write }) => {
    if (!flags.autoApprove && !(await approve(cli, id))) return cli.end(exitCode.error);
    const { productId } = await write({
      address: `products/${id}/duplicate`,
      kind: "duplicate",
      intent: { productId: id },
      call: (options) => service.duplicate(id, options),
      effects: () => [],
    });
    cli.terminal.out(`${inertJson({ product_id: productId, copy_of: id }, 2)}\n`);
  });
}

async function approve({ terminal, signal }: Cli, id: number): Promise<boolean> {
  if (!terminal.interactive) {
    throw new CliError("there is no terminal to ask for approval on; nothing was changed", {
      code: "approval-needed",
      hint: "Add --auto-approve to duplicate without asking.",
    });
  }
  const answer = await terminal.ask(
    `Duplicate product ${id}? This cannot be undone. Only 'yes' is taken as yes: `,
    signal,
  );
  return answer?.trim() === "yes";
}
