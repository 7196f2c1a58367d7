/** Every regular expression of the source, on the texts that it takes longest for. */

import assert from "node:assert/strict";
import process from "node:process";
import test from "node:test";
import { disguised } from "../../src/forms/spam/links.ts";
import { sellerPatterns } from "../../src/forms/spam/seller_grammar.ts";
import { chance } from "../support/faults/random.ts";
import { Backtracking } from "../support/steps/backtracking.ts";
import { regexpLiterals, wordsOf } from "../support/steps/literals.ts";

/** Texts tried for each; `FC_RUNS` for a long search. */
const rounds = Number(process.env.FC_RUNS ?? 150);
const [small, large] = [150, 600];

/** What no stranger writes, and what bounds it, by the beginning of the path. */
const ours: Readonly<Record<string, string>> = {
  "src/actions/config.ts": "the operator's settings",
  "src/settings/": "the operator's settings",
  "src/documents/guidance.ts": "numbers of the contract",
  "src/site/": "the pages of the repository",
  "src/http/markdown.ts": "the pages and the briefs of the repository",
  "src/store/schema/": "the statements of the repository",
};

/** What is put together from the words of the languages. */
const ofWords = [...sellerPatterns, disguised].map((pattern) => ({ path: "src/forms/spam/", pattern }));

test("no regular expression that reads a stranger's text takes steps beyond proportion to it", () => {
  const luck = chance(1);
  const found: string[] = [];
  for (const { path, pattern } of [...regexpLiterals(), ...ofWords]) {
    if (Object.keys(ours).some((known) => path.startsWith(known))) continue;
    const counting = new Backtracking(pattern);
    const words = wordsOf(pattern);
    for (let round = 0; round < rounds; round++) {
      const unit = Array.from({ length: 1 + luck.below(3) }, () => luck.pick(words)).join("");
      const [first, last] = [luck.oneIn(2) ? luck.pick(words) : "", luck.oneIn(2) ? luck.pick(words) : ""];
      const steps = (length: number) =>
        stepsOf(counting, pattern, `${first}${unit.repeat(length / unit.length)}${last}`);
      const most = steps(large);
      // In proportion it grows fourfold, with the square sixteenfold.
      if (most > 20 * large && most > 8 * steps(small)) {
        found.push(`${path}: ${pattern} on ${JSON.stringify([first, unit, last])}`);
        break;
      }
    }
  }
  assert.deepEqual(found, []);
});

/** Of a search, or of the search for all matches. */
function stepsOf(counting: Backtracking, { flags }: RegExp, text: string): number {
  let sum = 0;
  for (let at = 0; at <= text.length;) {
    const { match, steps } = counting.search(text, at);
    sum += steps;
    if (match === null || !flags.includes("g")) break;
    at = Math.max(match[1], at + 1);
  }
  return sum;
}
