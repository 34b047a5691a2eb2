import { describe, expect, test } from "vitest";
import { dataBlock, html, ownBlock } from "../../../../src/report/html/markup.ts";

describe("html", () => {
  test("escapes text in content and attributes, and control characters", () => {
    const text = `<b a='1' c="2">&\u202e`;
    expect(html`<p title="${text}">${text}</p>`.toString()).toBe(
      `<p title="&lt;b a=&#39;1&#39; c=&quot;2&quot;&gt;&amp;\\u{202e}">&lt;b a=&#39;1&#39; c=&quot;2&quot;&gt;&amp;\\u{202e}</p>`,
    );
  });

  test("inserts markup unchanged, joins lists, and omits absent values", () => {
    const items = ["<", ">"].map((item) => html`<li>${item}</li>`);
    expect(html`<ul>${items}${undefined}${false}${0}</ul>`.toString()).toBe(
      "<ul><li>&lt;</li><li>&gt;</li>0</ul>",
    );
  });
});

describe("dataBlock", () => {
  test.each(["</script>", "</SCRIPT >", "<!--", "<script", "<ScRiPt>", "</td>", "\u2028\u202e", `"\\`])(
    "escapes %j and is read back unchanged",
    (text) => {
      const block = dataBlock("d", [text]).toString();
      const json = block.slice('<script type="application/json" id="d">'.length, -"</script>".length);
      expect(json).not.toMatch(/<\/|<!|<script|[\u2028\u202e]/i);
      expect(JSON.parse(json)).toEqual([text]);
    },
  );
});

test.each(["</script>", "<!-- x"])("rejects a script that contains %j", (text) => {
  expect(() => ownBlock("script", text)).toThrow("cannot be part of a page");
});
