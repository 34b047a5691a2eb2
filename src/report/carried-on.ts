/** A sample of a metric as a metrics file has it. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/**
 * The samples of one workspace in what an earlier process wrote in the text format of Prometheus, by metric, without the
 * label of the workspace. A line that is none of ours is passed over.
 */
export function readSamples(text: string, workspace: string): ReadonlyMap<string, readonly Sample[]> {
  const found = new Map<string, Sample[]>();
  for (const line of text.split("\n")) {
    const [, name = "", inner = "", number = ""] = /^(\w+)(?:\{(.*)\})? (\d+(?:\.\d+)?)$/.exec(line) ?? [];
    const { workspace: of, ...labels } = labelsOf(inner);
    if (name === "" || of !== workspace) continue;
    const others = found.get(name);
    const sample = { labels, value: Number(number) };
    if (others === undefined) found.set(name, [sample]);
    else others.push(sample);
  }
  return found;
}

/** None of our labels holds a quotation mark or a backslash. */
function labelsOf(inner: string): Readonly<Record<string, string>> {
  const pairs = [...inner.matchAll(/(\w+)="([^"\\]*)"/g)];
  return Object.fromEntries(pairs.map(([, name = "", value = ""]) => [name, value]));
}
