import { describe, expect, it } from "vitest";
import { sends } from "./support/failure-rows.ts";
import { startHarness } from "./support/harness.ts";
import { answer } from "./support/raw-server.ts";

const page = (status: number) => answer(status, "<html>proxy</html>", { "Content-Type": "text/html" });

/** Responses that leave a call unknown. */
const replies = {
  redirect: answer(303, undefined, { Location: "/x" }),
  "an undocumented status": answer(451),
  "a proxy's refusal": page(418),
  "a failing service": answer(503),
  "a response of a different type": answer(200, { data: { type: "horse", id: "1" } }),
  "202": answer(202),
  "a broken connection": "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{",
} as const;

const commands = {
  update: "Run the command again: it sends the update again, which is safe.",
  detach: "Run the command again: it sends the delete again, which is safe.",
  attach: "Run the command again: it checks that first, and attaches nothing twice.",
  non_idempotent:
    "then run `draftsync resolve ADDRESS --product-id ID`, or with `--not-done` if there is none.",
} as const;

const cells = Object.entries(replies).flatMap(([name, reply]) =>
  (["update", "detach", "attach", "non_idempotent"] as const).map((callClass) => ({
    name,
    reply,
    callClass,
  })),
);

describe("hint for a call in doubt", () => {
  it.each(cells)("names one command to run: $callClass, $name", async ({ reply, callClass }) => {
    const { service } = await startHarness(() =>
      reply.startsWith("HTTP/1.1 200 OK\r\nContent-Length: 500") ? (socket) => void socket.end(reply) : reply,
    );
    const result = await sends[callClass](service);
    if (result.outcome !== "unknown") throw new Error(`it ended ${result.outcome}`);
    const { hint = "", message } = result.failure;
    expect(hint).toContain(commands[callClass]);
    expect(hint.match(/[Rr]un (the command|`draftsync)/g)).toHaveLength(1);
    expect(message.split("\n")[0]?.replace(/^[A-Z]+ \S+: /, "").length).toBeLessThanOrEqual(100);
  });
});

describe("hint for a refusal", () => {
  const gives = { errors: [{ title: "no", source: { pointer: "/data" } }] };
  it.each([
    ["update", answer(405, { errors: [] }), "Try service.profile.update_method"],
    ["attach", answer(405, { errors: [] }), "Check service.base_url"],
    ["attach", answer(422, gives), "Correct the values that the errors name."],
    ["attach", answer(422), "The response gives no reason."],
    ["attach", page(400), "The response gives no reason."],
  ] as const)("matches the request and the errors: %s", async (callClass, reply, hint) => {
    const { service } = await startHarness(() => reply);
    const result = await sends[callClass](service);
    expect(result.outcome === "done" ? "" : result.failure.hint).toContain(hint);
  });
});
