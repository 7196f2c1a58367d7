import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { render } from "../../src/http/markdown.ts";
import { codeSpan, literal, table } from "../../src/site/markdown.ts";

const shown = (text: string) => text.replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, " ").trim();
const awkward = fc.string({
  unit: fc.constantFrom(..."\\`*_{}[]()<>#+-.!|~&:/\"'=$^ \t\nax1é🏠"),
  minLength: 1,
});
const anything = fc.oneof(awkward, fc.string({ unit: "grapheme" }), fc.string({ unit: "binary" }))
  .map((text) => text.toWellFormed()).filter((text) => shown(text) !== "");

test("literal text comes out as it went in, wherever it stands, and makes no element", () => {
  fc.assert(
    fc.property(anything, (text) => {
      for (
        const [before, after, html] of [["", "", "<p>"], ["a ", " b", "<p>"], [
          "- ",
          "",
          "<ul>\n<li>",
        ]] as const
      ) {
        const rendered = render(`${before}${literal(text)}${after}`);
        assert.ok(rendered.html.startsWith(html), rendered.html);
        assert.equal(rendered.text, shown(`${before.replace("- ", "")}${shown(text)}${after}`));
        assert.doesNotMatch(rendered.html.replaceAll(/<\/?(p|ul|li)>/g, ""), /[<>"]/);
        assert.deepEqual(rendered.links, []);
      }
      const link = render(`- [${literal(text)}](/x/): ${literal(text)}`);
      assert.deepEqual(link.links, ["/x/"]);
      assert.equal(link.text, `${shown(text)}: ${shown(text)}`);
    }),
    { numRuns: 2_000 },
  );
});

test("code comes out as it went in, and both can stand in a cell", () => {
  fc.assert(
    fc.property(anything, (text) => {
      assert.equal(render(`a ${codeSpan(text)} b`).text, `a ${shown(text)} b`);
      if (!text.includes("|")) {
        assert.match(render(`a ${codeSpan(text)} b`).html, /^<p>a <code>[^<]*<\/code> b<\/p>\n$/);
      }
      const { html } = render(table(["A", "B"], [[literal(text), codeSpan(text)], ["x", "y"]]));
      const cells = [...html.matchAll(/<td>(.*?)<\/td>/gs)].map(([, inner = ""]) => unescaped(inner));
      assert.deepEqual(cells, [shown(text), shown(text), "x", "y"]);
    }),
    { numRuns: 2_000 },
  );
});

function unescaped(html: string): string {
  return html.replaceAll(/<\/?code>/g, "").replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll(
    "&quot;",
    '"',
  )
    .replaceAll("&#39;", "'").replaceAll("&amp;", "&");
}

test("raw HTML is text, and only addresses that cannot run anything are links", () => {
  assert.equal(render("a <b onclick=x>b</b>").html, "<p>a &lt;b onclick=x&gt;b&lt;/b&gt;</p>\n");
  assert.equal(
    render("[a](javascript:alert(1)) [b](//evil.example) [c](/plans/) ![d](/x.png)").html,
    '<p>a b <a href="/plans/">c</a> d</p>\n',
  );
  assert.equal(
    render("www.example.com https://example.com a@b.example").html,
    "<p>www.example.com https://example.com a@b.example</p>\n",
  );
});

test("a part folds away under a name of our own, and whatever else looks like one is text", () => {
  const folded = '<details name="kit"><summary>Go: <code>leads-go</code></summary>';
  assert.equal(
    render(`${folded}\n\na *b*\n\n</details>`).html,
    `${folded}<p>a <em>b</em></p>\n</details>`,
  );
  for (
    const other of [
      "<details open><summary>x</summary>",
      '<details name="a" ontoggle="x"><summary>x</summary>',
      '<details name="a"><summary><b>x</b></summary>',
    ]
  ) assert.doesNotMatch(render(`${other}\n\na`).html, /<(?!\/?p>)/, other);
});
