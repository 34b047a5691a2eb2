import { describe, expect, it } from "vitest";
import { makeRedactor } from "../../../src/service/redact.ts";

const secret = "key>>>???1";

describe("makeRedactor", () => {
  it.each([
    ["in plain text", secret],
    ["percent-encoded", "key%3E%3E%3E%3F%3F%3F1"],
    ["in Base64", "a2V5Pj4+Pz8/MQ=="],
    ["in Base64 for URLs", "a2V5Pj4-Pz8_MQ"],
    ["in hex", "6b65793e3e3e3f3f3f31"],
    ["in upper-case hex", "6B65793E3E3E3F3F3F31"],
  ])("redacts a secret %s in every position", (_name, form) => {
    const { text, json } = makeRedactor(secret);
    expect(text(`a ${form}, ${form}b`)).toBe("a [redacted], [redacted]b");
    const written = JSON.stringify({ list: [{ [`k${form}`]: form }], n: 1, none: null, yes: true });
    expect(json(JSON.parse(written), written)).toEqual({
      list: [{ "k[redacted]": "[redacted]" }],
      n: 1,
      none: null,
      yes: true,
    });
  });

  it("redacts a secret that JSON spells with escapes", () => {
    const written = String.raw`{"a":["\u006bey>>>???1"],"b":"a2V5Pj4+Pz8\/MQ=="}`;
    const { json } = makeRedactor(secret);
    expect(json(JSON.parse(written), written)).toEqual({ a: ["[redacted]"], b: "[redacted]" });
  });

  it.each([
    ["HTML", "key&gt;&#x3E;&#62;???1"],
    ["lower-case percent encoding", "key%3e%3e%3e%3f%3f%3f1"],
    ["quoted-printable", "key=3E>>=3F??1"],
    ["JSON that is not parsed", String.raw`key\u003e>>?\u003F?1`],
    ["Base64 after a user's name", Buffer.from(`me:${secret}`).toString("base64").slice(2, -2)],
  ])("redacts a secret escaped for %s", (_name, form) => {
    expect(makeRedactor(secret).text(form)).toMatch(/^.{0,3}\[redacted\].{0,2}$/);
  });

  it("redacts an added secret in texts, and a long one in JSON too", () => {
    const redactor = makeRedactor(secret);
    const long = "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY";
    redactor.add(long);
    redactor.add("garden");
    expect(redactor.text(`${long} garden`)).toBe("[redacted] [redacted]");
    const written = JSON.stringify([long, "garden"]);
    expect(redactor.json(JSON.parse(written), written)).toEqual(["[redacted]", "garden"]);
  });

  it("does not redact a secret of fewer than four characters", () => {
    expect(makeRedactor("abc").text("abc, YWJj, 616263")).toBe("abc, YWJj, 616263");
    expect(makeRedactor("abcd").text("abcd")).toBe("[redacted]");
  });
});
