import assert from "node:assert/strict";
import { test } from "node:test";
import { brief } from "../../src/documents/brief.ts";
import { formsBrief } from "../../src/documents/forms_brief.ts";
import { briefPage } from "../../src/playground/brief_page.ts";
import { readHtml, textsOf } from "../support/site/html.ts";

const versions = { script: "s1", copyScript: "c1", style: "s2", icon: "i1" };
const urls = { intake: "https://intake.acme.test", forms: "https://forms.acme.test" };
const markdownUrl = `${urls.intake}/api/INTEGRATION.md`;

for (
  const [name, markdown] of [["leads", brief(urls.intake, null)], ["forms", formsBrief(urls, null)]] as const
) {
  const page = briefPage(markdown, { versions, markdownUrl });

  test(`the page of the brief for ${name} is well made, and runs one script of its own host`, () => {
    const elements = readHtml(page);
    const scripts = elements.filter(({ name }) => name === "script").map(({ attributes }) => attributes.src);
    assert.deepEqual(scripts, ["/api/copy.js?v=c1"]);
    for (const { name, attributes } of elements) {
      const names = Object.keys(attributes).filter((attribute) => /^(style|on.*)$/.test(attribute));
      assert.deepEqual([name === "style", names], [false, []], name);
    }
    assert.equal(elements.filter(({ name }) => name === "h1").length, 1);
  });

  test(`it has every block of code, every heading and every link of the brief for ${name}`, () => {
    const blocks = [...markdown.matchAll(/^```\w+\n(.*?)^```$/gms)].map(([, code = ""]) => code.trim());
    assert.deepEqual(textsOf(page, "pre"), blocks);
    const headings = [...markdown.replaceAll(/^```.*?^```$/gms, "").matchAll(/^## (.*)$/gm)];
    assert.deepEqual(textsOf(page, "h2"), headings.map(([, text]) => text));
    for (const [, heading = ""] of headings) assert.ok(page.includes(`>${heading}</a>`), heading);
    for (const [, address] of markdown.matchAll(/<(https:[^>]+)>/g)) {
      assert.ok(page.includes(`<a href="${address}">`), address);
    }
    assert.equal(page.match(/<details /g)?.length, markdown.match(/^<details /gm)?.length);
    assert.doesNotMatch(page, /&lt;\/?(details|summary)/);
    assert.ok(page.includes(`<a href="${markdownUrl}">`));
  });
}
