import { holdersOf } from "../../apply/claims.ts";
import { makeClaim } from "../../model/lists.ts";
import type { Cli, DefineCommand, WorkspaceFlags, WriterFlags } from "../cli.ts";
import { examples, withWorkspaceFlags, withWriterFlags } from "../cli.ts";
import { approve } from "../runtime/approval.ts";
import { CliError } from "../runtime/cli-error.ts";
import { exitCode } from "../runtime/exit-code.ts";
import { parseProductId } from "../runtime/ledger-access.ts";
import { expectDone, singleCall, singleWrite } from "../runtime/single-call.ts";
import { printJson } from "../terminal/print-json.ts";

interface GetFlags extends WorkspaceFlags {
  readonly include?: string;
}

interface DuplicateFlags extends WriterFlags {
  readonly autoApprove?: boolean;
}

/** `draftsync products get|duplicate` */
export const defineProducts: DefineCommand = (program, cli) => {
  const products = program
    .command("products")
    .summary("manage products directly")
    .description("Single API calls for products. Prints JSON.");
  withWorkspaceFlags(products.command("get"))
    .summary("read a product")
    .description("Reads a product and the relations in --include.")
    .argument("<id>", "product id", parseProductId)
    .option("--include <relations>", "relations to include, comma-separated (default: from the config)")
    .addHelpText(
      "after",
      examples("draftsync products get 771200", "draftsync products get 771200 --include draft"),
    )
    .action((id: number, flags: GetFlags) => runGet(cli, id, flags));
  withWriterFlags(products.command("duplicate"))
    .summary("duplicate a product; cannot be undone")
    .description(
      "Copies a product, after asking: no call can undo it, and none can find out whether a lost call took effect. " +
        "Declare copies that belong in a manifest under `duplicates:` instead.",
    )
    .argument("<id>", "product id", parseProductId)
    .option("--auto-approve", "do not ask for approval; required without a terminal")
    .addHelpText("after", examples("draftsync products duplicate 771200"))
    .action((id: number, flags: DuplicateFlags) => runDuplicate(cli, id, flags));
};

async function runGet(cli: Cli, id: number, flags: GetFlags): Promise<void> {
  await singleCall(cli, flags, async ({ workspace, service }) => {
    const include = flags.include?.split(",").map((name) => name.trim());
    const relations = include ?? workspace.config.service.profile.product_include;
    const { productId, ...rest } = expectDone(await service.getProduct(id, relations, cli.signal));
    printJson(cli, { product_id: productId, ...rest });
  });
}

async function runDuplicate(cli: Cli, id: number, flags: DuplicateFlags): Promise<void> {
  await singleWrite(cli, { flags, command: "products duplicate" }, async ({ workspace, service, write }) => {
    const address = `products/${id}/duplicate`;
    const recorded = await (await workspace.ledger()).load();
    if (recorded.inDoubt.some((operation) => operation.address === address)) throw stillInDoubt(address);
    const approved = await approve(cli, {
      given: flags.autoApprove,
      question: `Duplicate product ${id}? This cannot be undone.`,
      to: "to duplicate",
      declined: "Not duplicated.",
    });
    if (!approved) return cli.end(cli.signal.aborted ? exitCode.interrupted : exitCode.error);
    const claim = makeClaim(address, holdersOf(recorded).products);
    const { productId } = await write({
      address,
      kind: "duplicate",
      intent: { productId: id },
      call: (options) => service.duplicate(id, { ...options, claim }),
      effects: () => [],
    });
    printJson(cli, { product_id: productId, copy_of: id });
  });
}

function stillInDoubt(address: string): CliError {
  return new CliError(`${address} is in doubt: an earlier call may have made a copy, so no other is sent`, {
    code: "operation-in-doubt",
    hint: `Look for the copy at the service, then run \`draftsync resolve ${address} --product-id ID\`, or with \`--not-done\` if there is none.`,
  });
}
