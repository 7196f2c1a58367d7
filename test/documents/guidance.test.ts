import { dollars, formLimitRows, grouped, limitRows } from "../../src/documents/guidance.ts";
import { type DocumentRule, documents } from "../../src/documents/published.ts";
import assert from "node:assert/strict";
import test from "node:test";

test("numbers are grouped by thousands, and cents are dollars with two places", () => {
  assert.deepEqual([0, 999, 1000, 16_000, 1_234_567].map(grouped), [
    "0",
    "999",
    "1,000",
    "16,000",
    "1,234,567",
  ]);
  assert.deepEqual([1, 100, 99_999].map(dollars), ["0.01", "1.00", "999.99"]);
});
test("the limits are the specification's, as people read them", () => {
  const values = Object.fromEntries(limitRows.map(({ limit, value }) => [limit, value]));
  assert.equal(values["Rate per key"], "600 requests a minute, burst 101");
  assert.equal(values["Rate per address"], "120 requests a minute, burst 31");
  assert.equal(values["Body"], "64 KiB (65,536 bytes)");
  assert.equal(values["Time for a request"], "20 s");
  assert.equal(values["`cost`"], "0.01 to 999.99 USD");
  assert.equal(values["Vocabulary cache"], "5 minutes");
});

test("the forms' limits are those that were decided, as people read them", () => {
  const values = Object.fromEntries(formLimitRows.map(({ limit, value }) => [limit, value]));
  assert.equal(values["Rate per address"], "600 requests a minute, burst 100");
  assert.equal(values["Rate per customer"], "1,200 requests a minute, burst 200");
  assert.equal(values["Dedupe without an `Idempotency-Key`"], "10 minutes");
});

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
