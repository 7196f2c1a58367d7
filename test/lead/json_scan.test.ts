import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { limits } from "../../src/contract/limits.ts";
import { findJsonFault, jsonFaults } from "../../src/lead/body_fault.ts";
import { parseObject } from "../../src/lead/json.ts";
import { messyText, numberText, runs } from "../support/lead/properties.ts";
import vectors from "../vectors/lead.json" with { type: "json" };

/** Malformed texts, each with the index of its fault. */
const broken: Readonly<Record<string, readonly (readonly [string, number])[]>> = {
  trailing_comma: [['{"a":1,}', 6], ['{"a":1,\n}', 6], ["[1,]", 2], ['{"a":[{},]}', 8]],
  stray_comma: [["{,}", 1], ["[,]", 1], ['{"a":1,,}', 7], ["[1,,2]", 3]],
  missing_comma: [['{"a":1 "b":2}', 7], ['{"a":"x" "b":2}', 9], ["[{}{}]", 3], ['{"a":1{', 6]],
  missing_colon: [['{"a" 1}', 5], ['{"a"}', 4], ['{"a"="b"}', 4]],
  missing_value: [['{"a":}', 5], ['{"a":,"b":1}', 5], ['{"a":]}', 5], ["", 0], [" ", 1], ["[}", 1]],
  text_after_string: [['{"a":"x"y"}', 8], ['{"a":"6" pipe"}', 9], ['["a";]', 4]],
  text_after_value: [['{"a":1;}', 6], ['{"a":[] x}', 8]],
  single_quotes: [["{'a':1}", 1], ["{\"a\":'b'}", 5], ["'a'", 0], ["{`a`:1}", 1]],
  typographic_quotes: [["{“a”:1}", 1], ['{"a":«b»}', 5]],
  comment: [["// x\n{}", 0], ["{/* x */}", 1], ['{"a":1 # x\n}', 7], ["{} // x", 3]],
  placeholder: [['{"a":{{b}}}', 5], ["{{a}}", 0], ["{ {a}}", 2]],
  unquoted_name: [["{a:1}", 1], ['{"a":1,b:2}', 7], ["{1:1}", 1]],
  unquoted_text: [['{"a":hello}', 5], ['{"a":$5}', 5], ["[truex]", 1]],
  not_a_number: [['{"a":NaN}', 5], ["[-Infinity]", 1], ["Infinity", 0]],
  foreign_word: [['{"a":True}', 5], ["[None]", 1], ["undefined", 0], ["[nil]", 1]],
  leading_zero: [['{"zip":02134}', 7], ["[-01]", 1]],
  malformed_number: [
    ["[+1]", 1],
    ["[.5]", 1],
    ["[1.]", 1],
    ["[1e]", 1],
    ["[-]", 1],
    ["[0x1]", 1],
    ["[555-123]", 1],
  ],
  line_break: [['{"a":"x\ny"}', 7], ['{"a":"x\r\ny"}', 7]],
  control_character: [['{"a":"x\ty"}', 7], ['{"a\0":1}', 3]],
  bad_escape: [['{"a":"\\x41"}', 6], ['{"a":"\\u12"}', 6], ['{"a":"\\\'"}', 6], ['{"a":"C:\\Users"}', 8]],
  unclosed_string: [['{"a":"x', 5], ['{"a', 1], ['{"a":"x\\', 5], ['{"a":"x\\"}', 5]],
  unclosed_object: [["{", 0], ['{"a":1', 0], ['{"a":', 0], ['[{"a":1,', 1]],
  unclosed_array: [["[", 0], ['{"a":[1', 5]],
  mismatched_bracket: [["[1}", 2], ['{"a":1]', 6]],
  text_after_end: [["{} x", 3], ["{}{}", 2], ["1 2", 2], ["{}}", 2]],
  too_deep: [["[".repeat(limits.jsonDepthMax + 1), limits.jsonDepthMax]],
  byte_order_mark: [["\ufeff{}", 0], ["{\ufeff}", 1], ["{}\ufeff", 2]],
  invalid_space: [["\u00a0{}", 0], ['{\u200b"a":1}', 1], ['{"a":\u30001}', 5]],
  no_json: [["hello", 0], ["}", 0], ["]", 0], [",", 0], ["first_name: Ada", 0], ["@", 0]],
};

for (const [kind, texts] of Object.entries(broken)) {
  test(`${kind} is found at its index`, () => {
    for (const [text, at] of texts) {
      assert.deepEqual(findJsonFault(text), { kind, at }, text);
      assert.equal(parseObject(text, limits.jsonDepthMax), null, text);
    }
  });
}

test("every kind of fault has a case", () => {
  assert.deepEqual(Object.keys(broken).sort(), Object.keys(jsonFaults).sort());
});

/** Whether `JSON.parse` accepts the text and its depth is within the limit. */
function isJson(text: string): boolean {
  try {
    JSON.parse(text);
  } catch {
    return false;
  }
  let depth = 0;
  for (const bracket of text.replace(/"(?:[^"\\]|\\.)*"/g, "").match(/[[\]{}]/g) ?? []) {
    depth += bracket === "[" || bracket === "{" ? 1 : -1;
    if (depth > limits.jsonDepthMax) return false;
  }
  return true;
}

const piece = fc.oneof(
  fc.constantFrom(
    ..."{}[]\",:'\\ \n\t\0\u00a0\ufeff-+.01eE",
    "true",
    "null",
    "NaN",
    '"a":',
    '{"a":1}',
    "\\u00",
    "//",
    "ẞ",
  ),
  numberText,
  messyText,
);

test("a text has a fault exactly when JSON.parse refuses it", () => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const text = pieces.join("");
      const fault = findJsonFault(text);
      assert.equal(fault === null, isJson(text), JSON.stringify(fault));
      assert.ok(fault === null || fault.at >= 0 && fault.at <= text.length);
    }),
    { numRuns: 10 * runs.numRuns },
  );
});

test("an edited lead has a fault exactly when JSON.parse refuses it", () => {
  const bodies = fc.oneof(fc.constantFrom(...vectors.map(({ body }) => body)), fc.json());
  fc.assert(
    fc.property(bodies, fc.nat(), fc.nat(12), piece, (body, at, length, put) => {
      const start = at % (body.length + 1);
      const text = body.slice(0, start) + put + body.slice(start + length);
      assert.equal(findJsonFault(text) === null, isJson(text));
    }),
    { numRuns: 10 * runs.numRuns },
  );
});
