import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import {
  decode,
  isObject,
  members,
  parseMembers,
  parseObject,
  replaceLoneSurrogates,
  stringEnd,
  withoutNul,
} from "../../src/lead/json.ts";
import { literalOf, messyText, runs } from "../support/lead/properties.ts";

const depthMax = 64;
const space = fc.string({ unit: fc.constantFrom(..." \t\r\n"), maxLength: 2 });

/** The text of a JSON value with random white space, escapes and duplicate names. */
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

test("an object is parsed as JSON.parse parses it", () => {
  fc.assert(
    fc.property(valueText.object, (text) => {
      assert.deepEqual(parseObject(text, depthMax), JSON.parse(text));
    }),
    runs,
  );
});

test("what JSON.parse refuses, or what is no object, is null", () => {
  fc.assert(
    fc.property(fc.oneof(messyText, fc.json(), valueText.value), (text) => {
      let expected: unknown = null;
      try {
        const value = JSON.parse(text);
        if (isObject(value)) expected = value;
      } catch {
        // Null it is.
      }
      assert.deepEqual(parseObject(text, depthMax), expected);
    }),
    runs,
  );
});

/** Texts that are nearly JSON: some pieces of one are exchanged, doubled or gone. */
const nearlyObject = fc.tuple(
  valueText.object,
  fc.array(
    fc.tuple(fc.nat(), fc.nat(3), fc.constantFrom(...'{}[]:,"\\ 1a', "", "\\u0000", "null")),
    { minLength: 1, maxLength: 2 },
  ),
).map(([text, edits]) =>
  edits.reduce((edited, [place, length, piece]) => {
    const at = place % (edited.length + 1);
    return `${edited.slice(0, at)}${piece}${edited.slice(at + length)}`;
  }, text)
);

test("members are parsed as the object is parsed, and of no text that is not one", () => {
  const check = (text: string) => {
    const object = parseObject(text, depthMax);
    const parsed = parseMembers(text, depthMax);
    assert.equal(parsed === null, object === null, text);
    if (parsed === null) return;
    const byName = new Map(parsed.map(({ name, value }) => [name, value]));
    assert.deepEqual(byName, new Map(Object.entries(object ?? {})), text);
    assert.deepEqual(
      parsed.map(({ name, nameText, valueText }) => ({ name: name.toWellFormed(), nameText, valueText })),
      members(text),
    );
  };
  fc.assert(fc.property(valueText.object, check), runs);
  fc.assert(fc.property(nearlyObject, check), { numRuns: 10 * runs.numRuns });
  for (
    const text of [
      ...[
        "",
        "{",
        "}",
        "[]",
        "1",
        '"a"',
        "{}",
        " {} ",
        "{}x",
        "{,}",
        '{"a"}',
        '{"a":}',
        '{"a":1',
        '{"a":1,}',
      ],
      ...[
        '{"a" 1}',
        '{"a":1 2}',
        '{"a":[}',
        '{"a":{]}',
        '{"a":[1}',
        '{"a":1]',
        '{"a":1}}',
        "{a:1}",
        '{"a":01}',
      ],
      ...['{"a":"\n"}', '{"a":"b}', '{"a:1}', '{"a":1;"b":2}', '{"a":[},"b":{]}', "{1:2}", '{"a":undefined}'],
      ...[`{"a":${"[".repeat(63)}${"]".repeat(63)}}`, `{"a":${"[".repeat(64)}${"]".repeat(64)}}`],
    ]
  ) check(text);
});

test("mending escapes gives the well-formed text and touches nothing else", () => {
  const unit = fc.constantFrom("\ud83d", "\ude00", "😀", "\\", '"', "u", "d", "8", "\n", "a");
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 12 }).chain(literalOf), (literal) => {
      const mended = replaceLoneSurrogates(literal);
      assert.equal(JSON.parse(mended), JSON.parse(literal).toWellFormed());
      if (JSON.parse(literal).isWellFormed()) assert.equal(mended, literal);
      assert.equal(replaceLoneSurrogates(mended), mended);
      assert.equal(decode(literal), JSON.parse(mended));
    }),
    runs,
  );
  assert.equal(
    replaceLoneSurrogates('["\\uD83D\\uDE00","\\uDE00\\uD83D"]'),
    '["\\uD83D\\uDE00","\\ufffd\\ufffd"]',
  );
  assert.equal(replaceLoneSurrogates('"\\\\ud83d \\n \\u0041"'), '"\\\\ud83d \\n \\u0041"');
});

test("escapes of U+0000 are taken out, and nothing that only looks like one", () => {
  assert.equal(withoutNul('{"a\\u0000":"x\\u0000\\u0000y"}'), '{"a":"xy"}');
  for (const text of ['"\\\\u0000"', '"\\u0001"', '"plain"']) {
    assert.equal(withoutNul(text), text);
  }
  assert.equal(withoutNul('"\\\\\\u0000\\n"'), '"\\\\\\n"');
});

test("a string ends at the first quotation mark that no odd run of backslashes precedes", () => {
  assert.equal(stringEnd('"a" "b"', 0), 3);
  assert.equal(stringEnd('"a" "b"', 4), 7);
  assert.equal(stringEnd('"\\"" "', 0), 4);
  assert.equal(stringEnd('"\\\\" "', 0), 4);
  assert.equal(stringEnd('"\\\\\\" " "', 0), 7);
  assert.equal(stringEnd('"', 0), 1);
  assert.equal(stringEnd('"abc\\"', 0), 6);
});
