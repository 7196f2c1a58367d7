import { errors } from "../../src/contract/errors.ts";
import { fieldNames, flagNames } from "../../src/contract/fields.ts";
import { brief } from "../../src/documents/brief.ts";
import { type Example, failureExamples, flagExamples, leadExamples } from "../../src/documents/examples.ts";
import { formsBrief } from "../../src/documents/forms_brief.ts";
import { limitRows, rules } from "../../src/documents/guidance.ts";
import { rich } from "../../src/http/markup.ts";
import bundle from "../../src/playground/bundle.json" with { type: "json" };
import { briefPage, icon, playgroundPage } from "../../src/playground/page.ts";
import { readHtml, textsOf } from "../support/site/html.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

const page = playgroundPage("https://intake.acme.test", {
  versions: { script: "s1", copyScript: "c1", style: "s2", icon: "i1" },
  contact: null,
});

test("all of it together is under 100 KiB compressed", (t) => {
  const sizes = [page, bundle.script, bundle.style, icon].map((text) => gzipSync(text, { level: 9 }).length);
  t.diagnostic(`${sizes.join(" + ")} bytes`);
  assert.ok(sizes.reduce((sum, size) => sum + size) < 100 * 1024);
});

test("there is no script, style or handler in the page itself, and nothing comes from elsewhere", () => {
  const scripts = [...page.matchAll(/<script\b[^>]*>/g)].map(([tag]) => tag);
  assert.deepEqual(scripts, ['<script type="module" src="/api/playground.js?v=s1">']);
  assert.doesNotMatch(page, /<style\b|\sstyle=|\son[a-z]+=|javascript:/i);
  const loaded = [...page.matchAll(/\s(?:href|src)="([^"]*)"/g)].map(([, address]) => address as string);
  for (const address of loaded) assert.match(address, /^[/#](?!\/)/);
});

test("its ids are unique, and every label, description and link within the page has its target", () => {
  const ids = [...page.matchAll(/\sid="([^"]*)"/g)].map(([, id]) => id as string);
  assert.equal(new Set(ids).size, ids.length);
  const targets = [...page.matchAll(/\s(?:for|list|aria-describedby|href)="#?([^"/]*)"/g)].map(([, id]) =>
    id as string
  );
  assert.ok(targets.length > 30);
  for (const target of targets) assert.ok(ids.includes(target), target);
});

test("without JavaScript it is the contract: every field, flag, error, limit, rule and example", () => {
  const names = [...fieldNames, ...flagNames, ...Object.keys(errors)];
  for (const name of names) assert.ok(page.includes(`<code>${name}</code>`), name);
  for (const { limit, value } of limitRows) {
    assert.ok(page.includes(`${rich(limit).text}</th><td data-label="Value">${rich(value).text}`), limit);
  }
  for (const rule of rules) assert.ok(page.includes(rich(rule).text), rule);
  const all: Readonly<Record<string, Example>> = { ...leadExamples, ...flagExamples, ...failureExamples };
  for (const name of Object.keys(all)) {
    assert.ok(page.includes(`id="example-${name}"`), name);
    assert.ok(page.includes(`<option value="${name}">`), name);
  }
  assert.ok(page.includes("https://intake.acme.test/v1/intake"));
});

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
