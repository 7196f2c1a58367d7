import { brief } from "../../src/documents/brief.ts";
import { formsBrief } from "../../src/documents/forms_brief.ts";
import bundle from "../../src/playground/bundle.json" with { type: "json" };
import formsBundle from "../../src/playground/forms_bundle.json" with { type: "json" };
import { formsPlaygroundPage } from "../../src/playground/forms_page.ts";
import { model } from "../../src/forms/spam/weights.ts";
import { briefPage, icon, playgroundPage } from "../../src/playground/page.ts";
import { readHtml } from "../support/site/html.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

const versions = { script: "s1", copyScript: "c1", formsScript: "f1", style: "s2", icon: "i1" };
const urls = { intake: "https://intake.acme.test", forms: "https://forms.acme.test" };
const pages = {
  "/api/playground.js?v=s1": { page: playgroundPage(urls.intake, { versions, contact: null }), bundle },
  "/forms/playground.js?v=f1": {
    page: formsPlaygroundPage(urls, { versions, contact: "keys@acme.test" }),
    bundle: formsBundle,
  },
};

for (const [script, { page, bundle: { script: scriptText } }] of Object.entries(pages)) {
  test(`the page of ${script} with everything it loads is under 100 KiB compressed`, (t) => {
    const sizes = [page, scriptText, bundle.style, icon].map((text) => gzipSync(text, { level: 9 }).length);
    t.diagnostic(`${sizes.join(" + ")} bytes`);
    assert.ok(sizes.reduce((sum, size) => sum + size) < 100 * 1024);
  });

  test(`the page of ${script} has no inline script, style or handler and loads nothing from other hosts`, () => {
    const scripts = [...page.matchAll(/<script\b[^>]*>/g)].map(([tag]) => tag);
    assert.deepEqual(scripts, [`<script type="module" src="${script}">`]);
    assert.doesNotMatch(page, /<style\b|\sstyle=|\son[a-z]+=|javascript:/i);
    const loaded = [...page.matchAll(/<(?:link|script|iframe)\b[^>]*\s(?:href|src)="([^"]*)"/g)];
    assert.equal(loaded.length, 3);
    for (const [, address] of loaded) assert.match(String(address), /^\/(?!\/)/);
  });

  test(`ids of the page of ${script} are unique, and every label, description and internal link has its target`, () => {
    const ids = [...page.matchAll(/\sid="([^"]*)"/g)].map(([, id]) => id);
    assert.equal(new Set(ids).size, ids.length);
    const targets = [...page.matchAll(/\s(?:for|list|aria-describedby|href)="#?([^"/:]*)"/g)];
    assert.ok(targets.length > 8);
    for (const [, target] of targets) assert.ok(ids.includes(target as string), target);
  });

  test(`${script} does not contain the weights of the spam score`, () => {
    for (const weights of [model.table, model.common]) {
      for (let at = 0; at < weights.length; at += 500) {
        assert.ok(!scriptText.includes(weights.slice(at, at + 40)), `characters from ${at}`);
      }
    }
    assert.ok(!scriptText.includes(String(model.weightMax)));
  });
}

const markdownUrl = `${urls.intake}/api/INTEGRATION.md`;

for (
  const [name, markdown] of [["leads", brief(urls.intake, null)], ["forms", formsBrief(urls, null)]] as const
) {
  const page = briefPage(markdown, { versions, markdownUrl });

  test(`the page of the ${name} brief is well-formed and runs one script from its own host`, () => {
    const elements = readHtml(page);
    const scripts = elements.filter(({ name }) => name === "script").map(({ attributes }) => attributes.src);
    assert.deepEqual(scripts, ["/api/copy.js?v=c1"]);
    for (const { name, attributes } of elements) {
      const names = Object.keys(attributes).filter((attribute) => /^(style|on.*)$/.test(attribute));
      assert.deepEqual([name === "style", names], [false, []], name);
    }
    assert.equal(elements.filter(({ name }) => name === "h1").length, 1);
  });
}
