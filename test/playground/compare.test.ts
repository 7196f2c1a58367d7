import { difference, type Piece } from "../../src/playground/compare.ts";
import fc from "fast-check";
import assert from "node:assert/strict";
import test from "node:test";

const marked = (pieces: readonly Piece[]) =>
  pieces.map(({ text, differs }) => differs ? `[${text}]` : text).join("");
const both = (before: string, after: string) => {
  const { before: a, after: b } = difference(before, after);
  return [marked(a), marked(b)];
};

test("what went and what came is marked, and the rest is not", () => {
  assert.deepEqual(both("(555) 123-4567", "+15551234567"), ["[(]555[) ]123[-]4567", "[+1]5551234567"]);
  assert.deepEqual(both("k1a0b1", "K1A 0B1"), ["[k]1[a]0[b]1", "[K]1[A ]0[B]1"]);
  assert.deepEqual(both("same", "same"), ["same", "same"]);
  assert.deepEqual(both("", "US"), ["", "[US]"]);
  assert.deepEqual(both("a  b", "a b"), ["a [ ]b", "a b"]);
});

test("texts come back whole, and what is not marked is the same in both", () => {
  const text = fc.string({ unit: fc.constantFrom("a", "b", " ", "🏠", "é"), maxLength: 60 });
  fc.assert(fc.property(text, text, (before, after) => {
    const found = difference(before, after);
    const all = (pieces: readonly Piece[]) => pieces.map((piece) => piece.text).join("");
    const shared = (pieces: readonly Piece[]) => all(pieces.filter(({ differs }) => !differs));
    assert.equal(all(found.before), before);
    assert.equal(all(found.after), after);
    assert.equal(shared(found.before), shared(found.after));
  }));
});

test("long texts that differ all over are marked whole between their common ends, at once", () => {
  const [before, after] = both(`x${"ab".repeat(8_000)}y`, `x${"ba".repeat(8_000)}zy`);
  assert.equal(before, `x[${"ab".repeat(8_000)}]y`);
  assert.equal(after, `x[${"ba".repeat(8_000)}z]y`);
});
