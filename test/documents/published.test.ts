import assert from "node:assert/strict";
import test from "node:test";
import { type DocumentRule, documents } from "../../src/documents/published.ts";

test("the documents are where the specification says", () => {
  assert.equal(documents.openapi.path, "/api/openapi.json");
  assert.equal(documents.brief.path, "/api/INTEGRATION.md");
  assert.equal(documents.playground.path, "/api");
  const paths = Object.values(documents).map(({ path }) => path);
  assert.equal(new Set(paths).size, paths.length);
});

test("the page runs no inline script, loads nothing from elsewhere, and is not framed", () => {
  const policy = documents.playground.headers["Content-Security-Policy"];
  assert.match(policy, /default-src 'none'/);
  assert.match(policy, /script-src 'self'/);
  assert.match(policy, /frame-ancestors 'none'/);
  assert.doesNotMatch(policy, /unsafe|https?:|data:|\*/);
});

test("only what is asked for by its version is kept for good", () => {
  for (const rule of Object.values(documents) as DocumentRule[]) {
    assert.doesNotMatch(rule.caching, /immutable/);
    if (rule.cachingOfVersion !== undefined) assert.match(rule.cachingOfVersion, /immutable/);
  }
});
