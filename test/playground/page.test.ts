import assert from "node:assert/strict";
import test from "node:test";
import { gzipSync } from "node:zlib";
import { type Example, failureExamples, flagExamples, leadExamples } from "../../src/documents/examples.ts";
import { errors } from "../../src/contract/errors.ts";
import { fieldNames, flagNames } from "../../src/contract/fields.ts";
import { limitRows, rules } from "../../src/documents/guidance.ts";
import bundle from "../../src/playground/bundle.json" with { type: "json" };
import { icon } from "../../src/playground/icon.ts";
import { rich } from "../../src/http/markup.ts";
import { playgroundPage } from "../../src/playground/page.ts";

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
