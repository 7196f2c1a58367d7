import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { render } from "../../src/http/markdown.ts";
import { escapeMarkdown } from "../../src/site/markdown.ts";

const shown = (text: string) => text.replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, " ").trim();
const awkward = fc.string({
  unit: fc.constantFrom(..."\\`*_{}[]()<>#+-.!|~&:/\"'=$^ \t\nax1é🏠"),
  minLength: 1,
});
const anything = fc.oneof(awkward, fc.string({ unit: "grapheme" }), fc.string({ unit: "binary" }))
  .map((text) => text.toWellFormed()).filter((text) => shown(text) !== "");

test("literal text is preserved wherever it is used and creates no element", () => {
  fc.assert(
    fc.property(anything, (text) => {
      for (
        const [before, after, html] of [["", "", "<p>"], ["a ", " b", "<p>"], [
          "- ",
          "",
          "<ul>\n<li>",
        ]] as const
      ) {
        const rendered = render(`${before}${escapeMarkdown(text)}${after}`);
        assert.ok(rendered.html.startsWith(html), rendered.html);
        assert.equal(rendered.text, shown(`${before.replace("- ", "")}${shown(text)}${after}`));
        assert.doesNotMatch(rendered.html.replaceAll(/<\/?(p|ul|li)>/g, ""), /[<>"]/);
        assert.deepEqual(rendered.links, []);
      }
      const link = render(`- [${escapeMarkdown(text)}](/x/): ${escapeMarkdown(text)}`);
      assert.deepEqual(link.links, ["/x/"]);
      assert.equal(link.text, `${shown(text)}: ${shown(text)}`);
    }),
    { numRuns: 2_000 },
  );
});

test("raw HTML becomes text, and only safe addresses become links", () => {
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
