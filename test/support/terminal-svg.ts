import type { StyledText } from "./screen.ts";

/** One screen of a recording, and its duration in seconds. */
export interface Frame {
  readonly lines: readonly (readonly StyledText[])[];
  readonly seconds: number;
}

const columnWidth = 8.4;
const lineHeight = 20;
const padding = 20;
const barHeight = 32;
const background = "#0d1117";
const foreground = "#d0d7de";

/** The colors of the command line. */
const colors: Readonly<Record<number, string>> = {
  1: "#ff7b72",
  2: "#56d364",
  3: "#e3b341",
  4: "#79c0ff",
  5: "#d2a8ff",
  6: "#76e3ea",
};

/**
 * A terminal as an SVG that shows the frames in a loop. It has no script and no embedded font. With
 * reduced motion, only the first frame is shown.
 */
export function formatRecording(frames: readonly Frame[], columns: number, title: string): string {
  const rows = Math.max(...frames.map(({ lines }) => lines.length));
  const width = Math.ceil(columns * columnWidth + 2 * padding);
  const height = rows * lineHeight + padding + barHeight;
  const total = frames.reduce((sum, { seconds }) => sum + seconds, 0);
  const dots = [0, 1, 2].map((at) => `<circle cx="${22 + 18 * at}" cy="17" r="5.5" fill="#484f58"/>`);
  const shown = frames.map((frame, index) => formatFrame(frame, index));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `<title>${title}</title>`,
    `<style>${styleOf(frames, total)}</style>`,
    `<rect width="${width}" height="${height}" rx="8" fill="${background}"/>`,
    ...dots,
    ...shown,
    "</svg>",
    "",
  ].join("\n");
}

function styleOf(frames: readonly Frame[], total: number): string {
  const percent = (seconds: number) => `${Number(((100 * seconds) / total).toFixed(3))}%`;
  let from = 0;
  const rules = frames.map(({ seconds }, index) => {
    const [begin, end] = [percent(from), percent(from + seconds)];
    from += seconds;
    const before = index === 0 ? "" : "0%{visibility:hidden}";
    const after = from < total ? `${end}{visibility:hidden}` : "";
    const steps = `@keyframes f${index}{${before}${begin}{visibility:visible}${after}}`;
    return `${steps}.f${index}{animation:f${index} ${total}s step-end infinite}`;
  });
  const text = `text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;white-space:pre;fill:${foreground}}`;
  const still = "g{visibility:hidden}.f0{visibility:visible}";
  return `${text}${still}@media (prefers-reduced-motion:no-preference){${rules.join("")}}`;
}

function formatFrame({ lines }: Frame, index: number): string {
  const texts = lines.map((line, row) => formatLine(line, barHeight + (row + 0.7) * lineHeight));
  return `<g class="f${index}">\n${texts.filter((text) => text !== "").join("\n")}\n</g>`;
}

/** Each text has its own position, because fonts differ in their widths. */
function formatLine(line: readonly StyledText[], y: number): string {
  let column = 0;
  const spans: string[] = [];
  for (const { text, color, bold, dim } of line) {
    const shown = text.trimEnd();
    const lead = shown.length - shown.trimStart().length;
    const x = padding + (column + lead) * columnWidth;
    column += [...text].length;
    if (shown.trim() === "") continue;
    const length = (shown.length - lead) * columnWidth;
    const fill = color === undefined ? "" : ` fill="${colors[color] ?? foreground}"`;
    const style = `${fill}${bold ? ' font-weight="bold"' : ""}${dim ? ' opacity="0.6"' : ""}`;
    spans.push(
      `<tspan x="${x.toFixed(1)}" textLength="${length.toFixed(1)}"${style}>${escapeXml(shown.slice(lead))}</tspan>`,
    );
  }
  return spans.length === 0 ? "" : `<text y="${y}">${spans.join("")}</text>`;
}

function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
