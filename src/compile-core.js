// Part of `npm run build`, in a process of its own: makes a plan here and writes what V8 holds of the core after it.
import { writeFileSync } from "node:fs";
import { join } from "node:path";

const [file, loader, main, library] = process.argv.slice(2);

// Of an empty ledger as much is read as of a full one.
const { openLedger, systemClock } = await import(library);
const ledger = await openLedger({
  location: join(process.cwd(), ".draftsync", "state.db"),
  clock: systemClock,
});
await ledger.close();

process.argv.splice(1, Infinity, main, "plan");
const { script, sealCompiled } = (await import(loader)).default;
process.once("exit", (code) => {
  if (code !== 0) throw new Error("the sample workspace cannot be planned");
  writeFileSync(file, sealCompiled(script.createCachedData()));
});
await import(main);
