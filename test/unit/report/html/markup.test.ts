import { describe, expect, test } from "vitest";
import { dataBlock, html, ownBlock } from "../../../../src/report/html/markup.ts";

describe("html", () => {
  test("escapes text in content and in quoted attributes, and spells out what acts on its own", () => {
    const text = `<b a='1' c="2">&\u202e`;
    expect(html`<p title="${text}">${text}</p>`.toString()).toBe(
      `<p title="&lt;b a=&#39;1&#39; c=&quot;2&quot;&gt;&amp;\\u{202e}">&lt;b a=&#39;1&#39; c=&quot;2&quot;&gt;&amp;\\u{202e}</p>`,
    );
  });

  test("takes its own results whole, lists one after another, and nothing for what is absent", () => {
    const items = ["<", ">"].map((item) => html`<li>${item}</li>`);
    expect(html`<ul>${items}${undefined}${false}${0}</ul>`.toString()).toBe(
      "<ul><li>&lt;</li><li>&gt;</li>0</ul>",
    );
  });
});

describe("a block of data", () => {
  test.each(["</script>", "</SCRIPT >", "<!--", "<script", "<ScRiPt>", "</td>", "\u2028\u202e", `"\\`])(
    "holds %j, and reads back unchanged",
    (text) => {
      const block = dataBlock("d", [text]).toString();
      const json = block.slice('<script type="application/json" id="d">'.length, -"</script>".length);
      expect(json).not.toMatch(/<\/|<!|<script|[\u2028\u202e]/i);
      expect(JSON.parse(json)).toEqual([text]);
    },
  );
});

test.each(["</script>", "<!-- x"])("a script of ours that holds %j is refused", (text) => {
  expect(() => ownBlock("script", text)).toThrow("cannot be part of a page");
});
