import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import {
  arrayElements,
  decodeString,
  indentJson,
  isObject,
  members,
  minifyJson,
  parseObject,
  removeNul,
  replaceLoneSurrogates,
  stringEnd,
} from "../../src/lead/json.ts";
import { literalOf, messyText, runs } from "../support/lead/properties.ts";

const depthMax = 64;
const space = fc.string({ unit: fc.constantFrom(..." \t\r\n"), maxLength: 2 });

/** Generates JSON texts with random white space, escapes and duplicate names. */
const valueText = fc.letrec<{ value: string; object: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    fc.constantFrom("null", "true", "false", "0", "-1.10", "1E+5", "12345678901234567890"),
    messyText.chain(literalOf),
    tie("object"),
    fc.tuple(space, fc.array(tie("value"), { maxLength: 3 })).map(([gap, items]) =>
      `[${gap}${items.join(`${gap},${gap}`)}${gap}]`
    ),
  ),
  object: fc.tuple(
    space,
    fc.array(
      fc.tuple(fc.oneof(messyText, fc.constantFrom("a", "__proto__")).chain(literalOf), tie("value")),
      { maxLength: 3 },
    ),
  ).map(([gap, pairs]) =>
    `{${gap}${pairs.map(([name, value]) => `${name}${gap}:${gap}${value}`).join(`${gap},${gap}`)}${gap}}`
  ),
}));

test("an object is parsed as JSON.parse parses it, and any other text is null", () => {
  fc.assert(
    fc.property(fc.oneof(messyText, fc.json(), valueText.value, valueText.object), (text) => {
      let expected: unknown = null;
      try {
        const value = JSON.parse(text);
        if (isObject(value)) expected = value;
      } catch {
        // Stays null.
      }
      assert.deepEqual(parseObject(text, depthMax), expected);
    }),
    runs,
  );
});

test("members returns every member as written, with the values of parseObject", () => {
  fc.assert(
    fc.property(valueText.object, (text) => {
      const list = members(text);
      const values = list.map(({ nameText, valueText }) =>
        [JSON.parse(nameText), JSON.parse(valueText)] as const
      );
      assert.deepEqual(new Map(values), new Map(Object.entries(parseObject(text, depthMax) ?? {})), text);
      for (const { name, nameText } of list) assert.equal(name, JSON.parse(nameText).toWellFormed());
    }),
    runs,
  );
});

test("replacing lone surrogates makes the text well-formed and changes nothing else", () => {
  const unit = fc.constantFrom("\ud83d", "\ude00", "😀", "\\", '"', "u", "d", "8", "\n", "a");
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 12 }).chain(literalOf), (literal) => {
      const fixed = replaceLoneSurrogates(literal);
      assert.equal(JSON.parse(fixed), JSON.parse(literal).toWellFormed());
      if (JSON.parse(literal).isWellFormed()) assert.equal(fixed, literal);
      assert.equal(replaceLoneSurrogates(fixed), fixed);
      assert.equal(decodeString(literal), JSON.parse(fixed));
    }),
    runs,
  );
  assert.equal(
    replaceLoneSurrogates('["\\uD83D\\uDE00","\\uDE00\\uD83D"]'),
    '["\\uD83D\\uDE00","\\ufffd\\ufffd"]',
  );
  assert.equal(replaceLoneSurrogates('"\\\\ud83d \\n \\u0041"'), '"\\\\ud83d \\n \\u0041"');
});

test("removeNul removes escapes of U+0000 and no text that resembles one", () => {
  assert.equal(removeNul('{"a\\u0000":"x\\u0000\\u0000y"}'), '{"a":"xy"}');
  for (const text of ['"\\\\u0000"', '"\\u0001"', '"plain"']) {
    assert.equal(removeNul(text), text);
  }
  assert.equal(removeNul('"\\\\\\u0000\\n"'), '"\\\\\\n"');
});

test("a string ends at the first unescaped quotation mark", () => {
  assert.equal(stringEnd('"a" "b"', 0), 3);
  assert.equal(stringEnd('"a" "b"', 4), 7);
  assert.equal(stringEnd('"\\"" "', 0), 4);
  assert.equal(stringEnd('"\\\\" "', 0), 4);
  assert.equal(stringEnd('"\\\\\\" " "', 0), 7);
  assert.equal(stringEnd('"', 0), 1);
  assert.equal(stringEnd('"abc\\"', 0), 6);
});

test("the arrayElements of an array are returned verbatim", () => {
  assert.deepEqual(arrayElements("[]"), []);
  assert.deepEqual(arrayElements(" [ \n ] "), []);
  assert.deepEqual(arrayElements(' [ 1.10 ,"],[" , {"a":[1, 2]} ,[ ],null] '), [
    "1.10",
    '"],["',
    '{"a":[1, 2]}',
    "[ ]",
    "null",
  ]);
});

test("minifyJson removes white space and preserves digits, escapes and order", () => {
  assert.equal(
    minifyJson(' { "b" : 1.10 ,\r\n\t"a" : [ 12345678901234567890 , "x \\" y\\\\" , "\\u0000" ] }\n'),
    '{"b":1.10,"a":[12345678901234567890,"x \\" y\\\\","\\u0000"]}',
  );
  assert.equal(minifyJson(" "), "");
  assert.equal(minifyJson('"never closed'), '"never closed');
});

test("indentJson keeps every digit and leaves other text unchanged", () => {
  assert.equal(
    indentJson('{"a":[1.10,12345678901234567890,1e400],"b":{"c":"x\\n"}}'),
    '{\n  "a": [\n    1.10,\n    12345678901234567890,\n    1e400\n  ],\n  "b": {\n    "c": "x\\n"\n  }\n}',
  );
  assert.equal(indentJson("a=1&b=2"), "a=1&b=2");
});

test("minifyJson and arrayElements accept any value with any indentation", () => {
  fc.assert(fc.property(fc.jsonValue(), fc.constantFrom(0, 1, "\t", "  \n"), (value, indent) => {
    const text = JSON.stringify(value, null, indent as string | number);
    assert.equal(minifyJson(text), JSON.stringify(value));
    if (Array.isArray(value)) {
      assert.deepEqual(arrayElements(text).map(minifyJson), value.map((element) => JSON.stringify(element)));
    }
  }));
});
