import { brief } from "../../src/documents/brief.ts";
import { formsBrief } from "../../src/documents/forms_brief.ts";
import bundle from "../../src/playground/bundle.json" with { type: "json" };
import { briefPage, icon, playgroundPage } from "../../src/playground/page.ts";
import { readHtml } from "../support/site/html.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

const versions = { script: "s1", copyScript: "c1", style: "s2", icon: "i1" };
const page = playgroundPage("https://intake.acme.test", { versions, contact: null });

test("the page with everything it loads is under 100 KiB compressed", (t) => {
  const sizes = [page, bundle.script, bundle.style, icon].map((text) => gzipSync(text, { level: 9 }).length);
  t.diagnostic(`${sizes.join(" + ")} bytes`);
  assert.ok(sizes.reduce((sum, size) => sum + size) < 100 * 1024);
});

test("the page has no inline script, style or handler and loads nothing from other hosts", () => {
  const scripts = [...page.matchAll(/<script\b[^>]*>/g)].map(([tag]) => tag);
  assert.deepEqual(scripts, ['<script type="module" src="/api/playground.js?v=s1">']);
  assert.doesNotMatch(page, /<style\b|\sstyle=|\son[a-z]+=|javascript:/i);
  const loaded = [...page.matchAll(/\s(?:href|src)="([^"]*)"/g)].map(([, address]) => address as string);
  for (const address of loaded) assert.match(address, /^[/#](?!\/)/);
});

test("ids are unique, and every label, description and internal link has its target", () => {
  const ids = [...page.matchAll(/\sid="([^"]*)"/g)].map(([, id]) => id);
  assert.equal(new Set(ids).size, ids.length);
  const targets = [...page.matchAll(/\s(?:for|list|aria-describedby|href)="#?([^"/]*)"/g)].map(([, id]) =>
    id
  );
  assert.ok(targets.length > 30);
  for (const target of targets) assert.ok(ids.includes(target), target);
});

const urls = { intake: "https://intake.acme.test", forms: "https://forms.acme.test" };
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
