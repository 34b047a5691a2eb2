// Writes the figures of a run into docs/internals/performance.md, between its marks, and the growth as docs/images/growth.svg.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, release, totalmem, type } from "node:os";
import { fileURLToPath } from "node:url";
import { percent } from "./measure.mjs";

const docs = fileURLToPath(new URL("../../docs/", import.meta.url));
const pageFile = `${docs}internals/performance.md`;

/** `withheld`: the share of the processors' time that was given to others meanwhile; `undefined` when nothing measures it. */
export function writePerformancePage({ rows, growth, withheld }) {
  const machine = `${type()} ${release()}, ${cpus().length} × ${cpus()[0]?.model ?? "unknown"}, ${Math.round(totalmem() / 2 ** 30)} GB, Node ${process.version}, ${new Date().toISOString().slice(0, 10)}`;
  const idle =
    withheld === undefined
      ? ""
      : ` Meanwhile its host withheld ${percent(withheld)} of its processors' time.`;
  if (rows !== undefined) replaceBetween("figures", `Measured on ${machine}.${idle}\n\n${tableOf(rows)}`);
  if (growth === undefined) return;
  mkdirSync(`${docs}images`, { recursive: true });
  writeFileSync(`${docs}images/growth.svg`, plot(growth));
}

function tableOf(rows) {
  return [
    "| what | measured | ratio | must be |",
    "|---|---|---|---|",
    ...rows.map(({ name, figure, ratio, target, least, holds }) => {
      const number = ratio === undefined ? "" : ratio < 0.1 ? ratio.toPrecision(2) : ratio.toFixed(2);
      const reported = holds ? number : `${number}, missed`;
      const bound = target === undefined ? "" : `${least ? "≥" : "≤"} ${Number(target.toFixed(2))}`;
      return `| ${name} | ${figure} | ${reported} | ${bound} |`;
    }),
  ].join("\n");
}

function replaceBetween(name, text) {
  const page = readFileSync(pageFile, "utf8");
  const [begin, end] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from < 0 || to < 0) throw new Error(`docs/internals/performance.md has no ${begin} … ${end}`);
  writeFileSync(pageFile, `${page.slice(0, from)}${begin}\n${text}\n${page.slice(to)}`);
}

const [width, height, left, right, top, bottom] = [660, 360, 56, 84, 24, 48];

/** Attachments against seconds (left) and megabytes (right), all on logarithmic scales. */
function plot(figures) {
  const x = scale([1000, 1_000_000], [left, width - right]);
  const time = scale([0.1, 100], [height - bottom, top]);
  const memory = scale([10, 10_000], [height - bottom, top]);
  const line = (of, colour, dash) => {
    const points = figures.map((figure) => `${x(figure.attachments).toFixed(1)},${of(figure).toFixed(1)}`);
    const marks = points.map((point) => {
      const [cx, cy] = point.split(",");
      return `<circle cx="${cx}" cy="${cy}" r="3" fill="${colour}"/>`;
    });
    return `<polyline points="${points.join(" ")}" fill="none" stroke="${colour}" stroke-width="2" stroke-dasharray="${dash}"/>${marks.join("")}`;
  };
  const label = (at, y, text, anchor) => `<text x="${at}" y="${y}" text-anchor="${anchor}">${text}</text>`;
  const columns = [1000, 10_000, 100_000, 1_000_000].map(
    (count) =>
      `<line x1="${x(count)}" x2="${x(count)}" y1="${top}" y2="${height - bottom}" stroke="#ccc"/>${label(x(count), height - bottom + 18, count.toLocaleString("en"), "middle")}`,
  );
  const levels = [0.1, 1, 10, 100].map(
    (value, at) =>
      `<line x1="${left}" x2="${width - right}" y1="${time(value)}" y2="${time(value)}" stroke="#ccc"/>${label(left - 8, time(value) + 4, `${value} s`, "end")}${label(width - right + 8, time(value) + 4, `${(10 ** (at + 1)).toLocaleString("en")} MB`, "start")}`,
  );
  const legend = [
    ["#0b62b8", "nothing kept", ""],
    ["#1a7f37", "all kept", "6 3"],
    ["#9a3b9a", "memory", "2 3"],
  ].map(
    ([colour, text], at) =>
      `<rect x="${left + 12}" y="${top + 8 + 18 * at}" width="10" height="10" fill="${colour}"/>${label(left + 28, top + 17 + 18 * at, text, "start")}`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12" role="img">
<title>A no-change plan from a thousand to a million attachments: seconds and memory</title>
<rect width="${width}" height="${height}" fill="#fff"/>
${[...columns, ...levels, line(({ cold }) => time(cold / 1000), "#0b62b8", ""), line(({ warm }) => time(warm / 1000), "#1a7f37", "6 3"), line(({ rss }) => memory(rss / 1e6), "#9a3b9a", "2 3"), ...legend].join("\n")}
${label((left + width - right) / 2, height - 8, "attachments", "middle")}
</svg>
`;
}

function scale([from, to], [start, end]) {
  const span = Math.log(to / from);
  return (value) => start + ((end - start) * Math.log(value / from)) / span;
}
