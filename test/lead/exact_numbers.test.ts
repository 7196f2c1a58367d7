import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseExactly, stringifyExactly, withoutMarks } from "../../src/lead/exact_numbers.ts";
import { literalOf, messyText, numberText, runs } from "../support/lead/properties.ts";

const roundTrip = (text: string) => stringifyExactly(parseExactly(text));
const [open, close] = ["\ufdd0", "\ufdd1"];

test("a number keeps its digits as a value, in a list and in an object", () => {
  const text = '{"big":12345678901234567890,"price":1.10,"list":[1E+5,-0,0.10],"small":5}';
  assert.equal(roundTrip(text), text);
});

test("where only integers are exact, other numbers stay numbers", () => {
  const text = '{"id":12345678901234567890,"minus":-12345678901234567890,"price":1.10,"large":1e3,"small":5}';
  const { id, minus, ...numbers } = parseExactly(text, { onlyIntegers: true }) as Record<string, unknown>;
  assert.equal(stringifyExactly([id, minus]), "[12345678901234567890,-12345678901234567890]");
  assert.deepEqual(numbers, { price: 1.1, large: 1000, small: 5 });
});

test("every JSON number survives with the sender's digits", () => {
  fc.assert(
    fc.property(numberText, (number) => {
      assert.equal(roundTrip(number), number);
      assert.equal(roundTrip(`{"a":[${number},${number}]}`), `{"a":[${number},${number}]}`);
    }),
    runs,
  );
});

test("a number that is joined to a text leaves its digits, and the JSON stays whole", () => {
  const { n, text } = parseExactly('{"n":1.10,"text":"5\'3\\""}') as Record<string, string>;
  const joined = { a: `${text}${n}`, b: `${n}${text}`, c: `${n}${n}`, d: `"${n}"` };
  assert.deepEqual(JSON.parse(stringifyExactly(joined) ?? ""), {
    a: "5'3\"1.10",
    b: "1.105'3\"",
    c: "1.101.10",
    d: '"1.10"',
  });
});

test("a number as a member's name stays a text", () => {
  const { n } = parseExactly('{"n":1.10}') as Record<string, string>;
  assert.equal(stringifyExactly({ [n as string]: n }), '{"1.10":1.10}');
});

test("the sender's own marks become U+FFFD, as characters and escapes, in values and names", () => {
  const sent = [`"${open}1${close}"`, '"\\ufdd01\\ufdd1"', '"\\uFDD01\\uFdD1"'];
  for (const text of sent) {
    assert.equal(roundTrip(text), '"\ufffd1\ufffd"', text);
    assert.equal(roundTrip(`{${text}:${text}}`), '{"\ufffd1\ufffd":"\ufffd1\ufffd"}', text);
  }
  // An escaped backslash is not the start of an escape.
  assert.equal(roundTrip('"\\\\ufdd01\\\\ufdd1"'), '"\\\\ufdd01\\\\ufdd1"');
  assert.equal(roundTrip('"\\\\\\ufdd01"'), '"\\\\\ufffd1"');
});

test("marks that a function decodes from a sender's text make no JSON but a number", () => {
  for (const inner of ["true", "1}{", '1","a":"2', "[1]", "01", "", " 1", "NaN", "1.", "--1"]) {
    const text = stringifyExactly({ a: `${open}${inner}${close}`, b: 2 }) ?? "";
    assert.deepEqual(JSON.parse(text), { a: inner, b: 2 });
  }
});

/** Generates texts of marks, quotes, backslashes and whatever else could end a text early. */
const hostileText = fc.string({
  unit: fc.oneof(
    fc.constantFrom(open, close, '"', "\\", ":", ",", "{", "}", "1", ".", "u", "f", "d", "0"),
    messyText,
  ),
  maxLength: 12,
});

test("hostile texts never break the JSON, and never become numbers or other names", () => {
  const literal = hostileText.chain(literalOf);
  fc.assert(
    fc.property(literal, literal, numberText, (name, value, number) => {
      const text = `{${name}:${value},"list":[${value},${number}],"n":${number}}`;
      const clean = (one: string) => JSON.parse(one).replace(/[\ufdd0\ufdd1]/g, "\ufffd");
      const read = { [clean(name)]: clean(value), list: [clean(value), Number(number)], n: Number(number) };
      assert.deepEqual(JSON.parse(roundTrip(text) ?? ""), read);
    }),
    runs,
  );
});

test("whatever an expression makes of marked texts is valid JSON", () => {
  const part = fc.oneof(hostileText, numberText.map((number) => parseExactly(number) as string));
  const made = fc.array(part, { maxLength: 4 }).map((parts) => parts.join(""));
  fc.assert(
    fc.property(fc.dictionary(made, fc.oneof(made, fc.array(made, { maxLength: 3 }))), (value) => {
      const text = stringifyExactly(value) ?? "";
      JSON.parse(text);
      assert.equal(withoutMarks(text), text);
    }),
    runs,
  );
});

test("nothing has no JSON, and a text without marks is unchanged", () => {
  assert.equal(stringifyExactly(undefined), undefined);
  assert.equal(withoutMarks("1.10"), "1.10");
  assert.equal(withoutMarks(`${open}1.10${close}`), "1.10");
});
