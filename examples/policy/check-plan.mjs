// Fails when a plan breaks a rule of the team: `draftsync plan --format json | node check-plan.mjs`.
// `draftsync schema plan` describes the JSON.
import { text } from "node:stream/consumers";

const maxPublishes = 5;
const plan = JSON.parse(await text(process.stdin));
const of = (action) => plan.changes.filter((change) => change.action === action);
const nameOf = ({ address, title }) => (title === undefined ? address : `${address} (${title})`);

const violations = [
  ...of("delete")
    .filter(({ address }) => address.includes("/product_files/"))
    .map((change) => `${nameOf(change)}: a product file may not be deleted`),
  ...of("create")
    .filter(({ address, after }) => address.includes("/promotional_files/") && !after.description)
    .map((change) => `${nameOf(change)}: a promotional file needs a description`),
];
const publishes = of("publish").length;
if (publishes > maxPublishes)
  violations.push(`${publishes} publishes: more than ${maxPublishes} in one plan`);

const result = violations.length === 0 ? "The plan follows the rules." : `${violations.length} violations.`;
process.stderr.write([...violations.map((violation) => `error: ${violation}`), result, ""].join("\n"));
process.exitCode = violations.length === 0 ? 0 : 1;
