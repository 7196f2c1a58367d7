import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { elements, withoutSpace } from "../../src/lead/json.ts";

test("elements of an array are as they were written", () => {
  assert.deepEqual(elements("[]"), []);
  assert.deepEqual(elements(" [ \n ] "), []);
  assert.deepEqual(elements(' [ 1.10 ,"],[" , {"a":[1, 2]} ,[ ],null] '), [
    "1.10",
    '"],["',
    '{"a":[1, 2]}',
    "[ ]",
    "null",
  ]);
});

test("a text without its white space means the same and keeps its digits, escapes and order", () => {
  assert.equal(
    withoutSpace(' { "b" : 1.10 ,\r\n\t"a" : [ 12345678901234567890 , "x \\" y\\\\" , "\\u0000" ] }\n'),
    '{"b":1.10,"a":[12345678901234567890,"x \\" y\\\\","\\u0000"]}',
  );
  assert.equal(withoutSpace(" "), "");
  assert.equal(withoutSpace('"never closed'), '"never closed');
});

test("whatever the value and the indent", () => {
  fc.assert(fc.property(fc.jsonValue(), fc.constantFrom(0, 1, "\t", "  \n"), (value, indent) => {
    const text = JSON.stringify(value, null, indent as string | number);
    assert.equal(withoutSpace(text), JSON.stringify(value));
    if (Array.isArray(value)) {
      assert.deepEqual(elements(text).map(withoutSpace), value.map((element) => JSON.stringify(element)));
    }
  }));
});
