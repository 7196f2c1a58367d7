/**
 * The counting matcher against the engine's.
 *
 * @module
 */

import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { Backtracking } from "./backtracking.ts";
import { regexpLiterals, wordsOf } from "./literals.ts";

test("every regular expression of the source finds here what it finds in the engine", () => {
  const literals = regexpLiterals();
  assert.ok(literals.length > 200, `${literals.length}`);
  for (const { pattern: { source, flags } } of literals) {
    const pattern = new RegExp(source, flags.replace(/[gy]/g, ""));
    const counting = new Backtracking(pattern);
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...wordsOf(pattern)), { maxLength: 12 }), (words) => {
        const text = words.join("");
        const native = pattern.exec(text);
        assert.deepEqual(
          counting.search(text, 0).match,
          native === null ? null : [native.index, native.index + native[0].length],
          `${pattern} on ${JSON.stringify(text)}`,
        );
      }),
      { numRuns: 20 },
    );
  }
});

test("a pattern that begins anew at every character takes steps that grow with the square of the text", () => {
  const steps = (pattern: RegExp, text: string) => new Backtracking(pattern).search(text, 0).steps;
  const growth = (pattern: RegExp, unit: string) =>
    steps(pattern, `${unit.repeat(800)}\n`) / steps(pattern, `${unit.repeat(400)}\n`);
  for (const [pattern, unit] of [[/ +$/, " "], [/<[^>]*>/, "<"], [/(a+)b/, "a"]] as const) {
    assert.ok(growth(pattern, unit) > 3.8, `${pattern}`);
  }
  for (const [pattern, unit] of [[/ +\n/, "a "], [/^a*b/, "a"], [/<[^<>]*>/, "<"]] as const) {
    assert.ok(growth(pattern, unit) < 2.2, `${pattern}`);
  }
});
