import assert from "node:assert/strict";
import test from "node:test";
import { foldText, wordsOf } from "../../../../src/forms/spam/fold.ts";
import { locales } from "../../../../src/forms/spam/locale/locales.ts";

/** Every list of terms in a value, by the path of its members. */
function listsOf(
  value: unknown,
  path: string,
): readonly (readonly [path: string, terms: readonly string[]])[] {
  if (Array.isArray(value)) return [[path, value as readonly string[]]];
  if (value === null || typeof value !== "object" || value instanceof RegExp) return [];
  return Object.entries(value).flatMap(([name, member]) => listsOf(member, `${path}.${name}`));
}

const lists = locales.flatMap((locale, at) => listsOf(locale, `locales[${at}]`));

test("every term of a language can be found in a text: its words are what a text of it is read as", () => {
  const unread = lists.flatMap(([path, terms]) =>
    terms.map((term) => foldText(term).replaceAll(/\*(?= |$)/g, ""))
      .filter((term) => wordsOf(term).join(" ") !== term).map((term) => `${path}: ${term}`)
  );
  assert.deepEqual(unread, []);
});

test("no two terms of a list are the same without accents and case", () => {
  for (const [path, terms] of lists) assert.equal(new Set(terms.map(foldText)).size, terms.length, path);
});

test("a term that says how a word begins has two letters of it, and a part of a building has two words at most", () => {
  const starts = lists.flatMap(([, terms]) => terms).flatMap((term) =>
    term.split(" ").filter((word) => word.endsWith("*"))
  );
  assert.deepEqual(starts.filter((word) => word.length < 3), []);
  const parts = locales.flatMap(({ customer }) => customer.building);
  assert.deepEqual(parts.filter((part) => part.split(" ").length > 2), []);
});
