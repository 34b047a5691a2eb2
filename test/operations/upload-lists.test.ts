import { expect, test } from "vitest";
import { useWorkspace } from "../support/workspace.ts";

const { apply, arrivals, config, folder, proxy, sandbox } = useWorkspace({
  files: {
    "manifests/a.yaml": `draft: 1\nproduct_files: [${[1, 2, 3, 4, 5, 6].map((at) => `{ upload_key: incoming/${at}.mp4 }`).join(", ")}]\n`,
  },
  sandbox: { uploadProcessingMs: 1 },
});

const listed = (status: number, body: unknown) =>
  ({
    type: "answer",
    status,
    headers: { "content-type": "application/vnd.api+json" },
    body: JSON.stringify(body),
  }) as const;

const answers = {
  "is refused": listed(400, { errors: [{ status: "400" }] }),
  fails: listed(500, { errors: [{ status: "500" }] }),
  "is no list": listed(200, { data: null }),
  "lacks all": listed(200, { data: [] }),
};
const limits = [
  { page: 50, maxCalls: 1 },
  { page: 50, maxCalls: 3 },
  { page: 1, maxCalls: 5 },
];
const cases = Object.entries(answers).flatMap(([how, answer]) =>
  limits.map((limit) => ({ how, answer, ...limit })),
);

test.each(cases)(
  "runs with --max-calls $maxCalls attach all although each list of $page $how",
  async ({ answer, page, maxCalls }) => {
    const { "draftsync.yaml": text } = config();
    const profile = `profile: { uploads_page: ${page}, upload_poll_min: 1ms, settle_delay: 1ms }`;
    await folder.write({ "draftsync.yaml": text.replace(/profile: .*/, profile) });
    proxy.choose = ({ path }) => (path.startsWith("/api/uploads?") ? answer : undefined);
    const codes: number[] = [];
    while (codes.at(-1) !== 0 && codes.length < 20) {
      arrivals.length = 0;
      codes.push((await apply("--max-calls", `${maxCalls}`)).code);
      expect(arrivals.length).toBeLessThanOrEqual(maxCalls);
    }
    expect(codes.at(-1)).toBe(0);
    expect(sandbox.state().attachments).toHaveLength(6);
  },
);
