// A process that sends calls through the library: `node caller.mjs '{ "url", "key", "ledger", "calls", "jumpMs" }'`.
// It prints a line when it begins and before it stops itself, which it does at its first connection and between two
// calls. No bound can count a request of a process that is suspended between its last check and its first byte.
// Its wall clock jumps after half of the calls.
import { writeSync } from "node:fs";
import { Socket } from "node:net";
import { openLedger, openService, serviceProfileSchema, systemClock } from "../../dist/index.js";

const {
  url,
  key,
  ledger: location,
  rate,
  calls,
  jumpMs = 0,
  stops = false,
  timeoutMs = 5_000,
} = JSON.parse(process.argv[2]);
const ledger = await openLedger({ location, clock: systemClock });
const service = openService({
  baseUrl: url,
  apiKey: key,
  rate,
  rateStore: ledger,
  concurrency: 8,
  timeoutMs,
  profile: serviceProfileSchema.parse({ settle_delay: "200ms" }),
  clock: systemClock,
  emit: () => {},
  root: "/",
});
process.stdout.write("begun\n");
const { signal } = new AbortController();
const dateNow = Date.now;
let left = calls;
let ended = 0;
const stop = () => {
  writeSync(1, "stopping\n");
  process.kill(process.pid, "SIGSTOP");
};
const { connect } = Socket.prototype;
if (stops) {
  Socket.prototype.connect = function (...args) {
    Socket.prototype.connect = connect;
    process.nextTick(stop);
    return connect.apply(this, args);
  };
}
const worker = async () => {
  while (left > 0) {
    left -= 1;
    const result = await service.getProduct(1, undefined, signal);
    if (result.outcome !== "done") throw new Error(JSON.stringify(result));
    ended += 1;
    if (ended === Math.floor(calls / 2)) Date.now = () => dateNow() + jumpMs;
    if (stops && ended === 25) setImmediate(stop);
  }
};
await Promise.all(Array.from({ length: 8 }, worker));
await service.close();
await ledger.close();
