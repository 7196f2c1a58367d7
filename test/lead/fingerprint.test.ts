import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { fieldNames } from "../../src/contract/fields.ts";
import { canonicalText } from "../../src/lead/fingerprint.ts";
import type { Lead } from "../../src/lead/lead.ts";
import { areEqual, literalOf, messyText, numberText, runs } from "../support/lead/properties.ts";

const ada: Lead = { first_name: "Ada", last_name: "Lovelace", phone: "+14155550123", country: "US" };

/** Asserts that the lead has the same content with each `extra`. */
function assertSame(...extras: string[]): void {
  for (const extra of extras) assert.equal(canonicalText(ada, extra), canonicalText(ada, extras[0]!), extra);
}
function assertDifferent(...extras: string[]): void {
  assert.equal(new Set(extras.map((extra) => canonicalText(ada, extra))).size, extras.length);
}

/** A JSON value with its numbers as text and its members as a list. */
type Tree =
  | { word: string }
  | { number: string }
  | { text: string }
  | { items: Tree[] }
  | { members: [string, Tree][] };

const tree = fc.letrec<{ tree: Tree }>((tie) => ({
  tree: fc.oneof(
    { depthSize: "small" },
    fc.record({ word: fc.constantFrom("null", "true", "false") }),
    fc.record({ number: numberText }),
    fc.record({ text: messyText.map((text) => text.toWellFormed()) }),
    fc.record({ items: fc.array(tie("tree"), { maxLength: 3 }) }),
    fc.record({
      members: fc.uniqueArray(
        fc.tuple(fc.constantFrom("a", "b", "é", "__proto__", "10", "2", ""), tie("tree")),
        {
          selector: ([name]) => name,
          maxLength: 4,
        },
      ),
    }),
  ),
})).tree;

/** Generates texts of `value` that differ in escapes, white space, member order, duplicates and zeros. */
function spelling(value: Tree): fc.Arbitrary<string> {
  if ("word" in value) return fc.constant(value.word);
  if ("number" in value) return fc.nat(3).map((zeros) => respell(value.number, zeros));
  if ("text" in value) return literalOf(value.text);
  const gap = fc.constantFrom("", " ", "\n\t");
  if ("items" in value) {
    return fc.tuple(gap, fc.tuple(...value.items.map(spelling)))
      .map(([gap, items]) => `[${gap}${items.join(`${gap},${gap}`)}${gap}]`);
  }
  const pairs = value.members.map(([name, inner]) => fc.tuple(literalOf(name), spelling(inner)));
  const shuffled = fc.tuple(...pairs)
    .chain((list) => fc.shuffledSubarray(list, { minLength: list.length, maxLength: list.length }));
  return fc.tuple(gap, shuffled, fc.boolean()).map(([gap, list, duplicate]) => {
    const texts = list.map(([name, inner]) => `${name}${gap}:${gap}${inner}`);
    if (duplicate && list.length > 0) texts.unshift(`${list.at(-1)![0]}:["loses"]`);
    return `{${gap}${texts.join(`${gap},${gap}`)}${gap}}`;
  });
}

function respell(number: string, zeros: number): string {
  if (zeros === 0 || /[eE]/.test(number)) return number;
  return (number.includes(".") ? number : `${number}.`) + "0".repeat(zeros) + (zeros === 3 ? "E-00" : "");
}

function areSame(left: Tree, right: Tree): boolean {
  if ("word" in left) return "word" in right && left.word === right.word;
  if ("number" in left) return "number" in right && areEqual(left.number, right.number);
  if ("text" in left) return "text" in right && left.text === right.text;
  if ("items" in left) {
    return "items" in right && left.items.length === right.items.length &&
      left.items.every((item, at) => areSame(item, right.items[at]!));
  }
  return "members" in right && left.members.length === right.members.length &&
    left.members.every(([name, inner]) =>
      right.members.some(([other, value]) => name === other && areSame(inner, value))
    );
}

test("every field of a lead, and which field has a value, changes the content", () => {
  const leads = [
    ada,
    ...fieldNames.map((name) => ({ ...ada, [name]: "other" })),
    { ...ada, cost_cents: 1 },
    { ...ada, cost_cents: 10 },
    { ...ada, external_id: "1" },
    { ...ada, city: 'x",state:"CA' },
    { ...ada, city: "x", state: "CA" },
    { ...ada, city: "x\n{}" },
  ];
  assert.equal(new Set(leads.map((lead) => canonicalText(lead, null))).size, leads.length);
});

test("extra changes the content", () => {
  assert.notEqual(canonicalText(ada, null), canonicalText(ada, '{"a":null}'));
  assertDifferent(
    '{"a":null}',
    '{"a":1}',
    '{"a":"1"}',
    '{"a":true}',
    '{"a":"true"}',
    '{"a":[1]}',
    '{"a":{}}',
  );
  assertDifferent('{"a":[]}', '{"a":[[]]}', '{"a":[{}]}', '{"a":""}', '{"a":0}', '{"a":false}', '{"b":null}');
});

test("numbers are compared as exact decimals", () => {
  assertSame('{"a":1.10}', '{"a":1.1}', '{"a":11e-1}', '{"a":0.11E+1}', '{"a":1.1000000000000000000000e0}');
  assertSame('{"a":0}', '{"a":-0}', '{"a":0.00}', '{"a":0e99}');
  assertSame('{"a":100}', '{"a":1e2}', '{"a":1e00000000000000000000002}');
  assertDifferent('{"a":12345678901234567890}', '{"a":12345678901234567891}', '{"a":12345678901234567000}');
  assertDifferent('{"a":0.1}', '{"a":0.1000000000000000000000000001}', '{"a":-0.1}', '{"a":1}', '{"a":10}');
  assertDifferent('{"a":1e400}', '{"a":1e401}', '{"a":-1e400}', '{"a":1e-400}', '{"a":0}', '{"a":null}');
  assertDifferent('{"a":1e99999999999999999998}', '{"a":1e99999999999999999999}');
});

test("two extras have the same canonical text only if they are the same data", () => {
  const two = fc.tuple(tree, tree).chain(([left, right]) =>
    fc.tuple(fc.constant(left), fc.constant(right), spelling(left), spelling(right))
  );
  fc.assert(
    fc.property(two, ([left, right, leftText, rightText]) => {
      const same = canonicalText(ada, leftText) === canonicalText(ada, rightText);
      assert.equal(same, areSame(left, right), `${leftText} and ${rightText}`);
    }),
    runs,
  );
});

test("an extra of up to 16 KiB is compared as data, a longer one verbatim", () => {
  const members = (count: number) => Array.from({ length: count }, (_, at) => `"m${at}":"0123456789"`);
  const [few, many] = [members(700), members(900)];
  assert.ok(few.join().length < 16_000 && many.join().length > 17_000);
  assertSame(`{${few}}`, `{${few.toReversed()}}`);
  assertDifferent(`{${many}}`, `{${many.toReversed()}}`);
});

test("an extra compared as data never equals one compared verbatim", () => {
  const long = (word: string) => `{"a":[${new Array(4_200).fill(word)}]}`;
  assertDifferent(long("1"), long("1e1"));
  // The worst case is a body that is the canonical form itself.
  const words = fc.array(fc.oneof(numberText, literalOf("a")), { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(words, (some) => {
      const once = `${some},`;
      const short = `{"a":[${once.repeat(Math.floor(16_300 / once.length))}1]}`;
      const canonical = canonicalText(ada, short).split("\n")[1] as string;
      fc.pre(canonical.length > 16_384);
      assertDifferent(short, canonical);
    }),
    { numRuns: Math.ceil(runs.numRuns / 10) },
  );
});

test("a lead has the same content before and after the vocabulary adds its area", () => {
  const asSent: Lead = { ...ada, project_area: "Sauna" };
  const asKnown: Lead = { ...ada, project_area: "sauna" };
  assert.equal(canonicalText(asSent, null), canonicalText(asKnown, null));
  assert.notEqual(
    canonicalText(asSent, null),
    canonicalText({ ...ada, project_area: "saunas" }, null),
  );
});

test("an accent may be one character or two, in the lead and in extra, but not in a long run of marks", () => {
  const composed: Lead = { ...ada, last_name: "Ren\u00e9" };
  assert.equal(canonicalText(composed, null), canonicalText({ ...ada, last_name: "Rene\u0301" }, null));
  assertSame('{"\u00e9":"\u00e9","f":1}', '{"f":1,"e\u0301":"e\u0301"}', '{"f":1,"e\\u0301":"\\u00e9"}');
  const marks = "\u0316".repeat(9);
  assertDifferent(`{"a":"\u00e9${marks}"}`, `{"a":"e${marks}\u0301"}`);
});
