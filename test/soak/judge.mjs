// What must be true after hours of faults and kills, as the server's log, its database and the ledger tell it.

/** The most arrivals in any window of `windowMs`; `times` are monotonic milliseconds. */
export function busiestWindow(times, windowMs) {
  const sorted = [...times].sort((a, b) => a - b);
  let most = 0;
  for (let first = 0, last = 0; last < sorted.length; last += 1) {
    while (sorted[last] - sorted[first] >= windowMs) first += 1;
    most = Math.max(most, last - first + 1);
  }
  return most;
}

/** Files that were attached by a POST while they were attached by one before it. */
export function attachedTwice(arrivals) {
  const attached = new Set();
  const twice = [];
  for (const { method, path, body, status, fault } of arrivals) {
    const match = /^\/api\/(drafts\/\d+\/(?:product|promotional)_files)(?:\/(\d+))?$/.exec(path);
    if (match === null) continue;
    const file = `${match[1]}/${match[2] ?? body?.data?.attributes?.file_id}`;
    // What the service did, whatever response the client received.
    const served = fault === undefined ? status : fault.answered;
    if (method === "POST" && attached.has(file)) twice.push(file);
    if (served === null || served >= 300) continue;
    if (method === "POST") attached.add(file);
    if (method === "DELETE") attached.delete(file);
  }
  return twice;
}

/** Publications at the service and in the ledger, draft by draft, that are not the same products. */
export function unaccounted(products, { publications, operations }) {
  const recorded = new Set(publications.map((publication) => publication.product_id));
  const doubts = operations.filter(({ kind, outcome, settled }) => {
    return kind === "publish" && (outcome ?? "unknown") === "unknown" && settled === undefined;
  });
  const inDoubt = new Set(doubts.map(({ intent }) => intent.draft_id));
  const made = new Set(products.map(({ id }) => id));
  return [
    ...products
      .filter(({ id, draftId }) => !recorded.has(id) && !inDoubt.has(draftId))
      .map(({ id }) => `product ${id} is not recorded`),
    ...[...recorded]
      .filter((id) => !made.has(id))
      .map((id) => `product ${id} is recorded and does not exist`),
  ];
}

/** What may grow by how much in a process that collects its garbage before each sample. */
const afterCollection = { heapUsed: 4 * 2 ** 20, rss: 48 * 2 ** 20, descriptors: 3 };

/** What grew by more than is allowed between the first and the last third of the samples, after a third to warm up. */
export function growth(samples, allowed = afterCollection) {
  const third = Math.floor(samples.length / 3);
  if (third < 3) return [`only ${samples.length} samples of a process that lives long: too few to judge`];
  const median = (part, name) => {
    const values = part.map((sample) => sample[name]).sort((a, b) => a - b);
    return values[values.length >> 1];
  };
  const middle = samples.slice(third, 2 * third);
  const end = samples.slice(-third);
  return Object.entries(allowed)
    .map(([name, most]) => ({ name, most, by: median(end, name) - median(middle, name) }))
    .filter(({ by, most }) => by > most)
    .map(({ name, by }) => `${name} grew by ${by}`);
}
