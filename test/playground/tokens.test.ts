import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { tokenize } from "../../src/playground/tokens.ts";

test("the parts of a JSON text are told apart", () => {
  const kinds = tokenize('{"a" : "b\\"c", "n":-1.5e3,"t":true, "l":[null]}')
    .filter(({ kind }) => kind !== "space" && kind !== "mark").map(({ kind, text }) => `${kind} ${text}`);
  assert.deepEqual(kinds, [
    'name "a"',
    'string "b\\"c"',
    'name "n"',
    "number -1.5e3",
    'name "t"',
    "word true",
    'name "l"',
    "word null",
  ]);
});

test("the parts of any text are the text, valid or not", () => {
  const text = fc.string({
    unit: fc.oneof(
      fc.constantFrom(...'{}[]:,"\\ \n\t-1.eE+ntf'),
      fc.string({ unit: "binary", maxLength: 1 }),
    ),
  });
  fc.assert(fc.property(text, (sent) => assert.equal(tokenize(sent).map(({ text }) => text).join(""), sent)));
});
