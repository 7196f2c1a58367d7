import { indented, places, setMember, tokenize } from "../../src/playground/edit_json.ts";
import fc from "fast-check";
import assert from "node:assert/strict";
import test from "node:test";

const name = fc.constantFrom("first_name", "last_name", "phone", "cost", 'a"b\\', "é", "__proto__", "zip");
const object = fc.dictionary(name, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 6 });
const text = fc.tuple(object, fc.constantFrom(0, 2, "\t")).map(([value, indent]) =>
  JSON.stringify(value, null, indent)
);

test("places are where the members stand, whatever is inside them", () => {
  const sent = '{ "a\\"}": {"phone":"x"} ,"phone" : "y,\\"z" ,"list":[1,{"b":2}]}';
  const found = places(sent) ?? [];
  assert.deepEqual(found.map((place) => [place.name, sent.slice(place.valueStart, place.valueEnd)]), [
    ['a"}', '{"phone":"x"}'],
    ["phone", '"y,\\"z"'],
    ["list", '[1,{"b":2}]'],
  ]);
  for (const { nameStart } of found) assert.equal(sent[nameStart], '"');
  for (const none of ["", "[]", "{", "null", `{"a":${"[".repeat(99)}${"]".repeat(99)}}`]) {
    assert.equal(places(none), null);
  }
});

test("setting a member changes that one and leaves every other character", () => {
  const sent = '{\n  "last_name": "L",\n  "n": 1.10,\n  "big": 12345678901234567890\n}';
  assert.equal(setMember(sent, "last_name", '"M"'), sent.replace('"L"', '"M"'));
  assert.equal(setMember(sent, "n", null), sent.replace('\n  "n": 1.10,', ""));
  assert.equal(setMember(sent, "phone", '"1"'), sent.replace('"L",', '"L",\n  "phone": "1",'));
  assert.equal(setMember(sent, "first_name", '"A"'), sent.replace("{\n", '{\n  "first_name": "A",\n'));
  assert.equal(setMember("{}", "phone", '"1"'), '{\n  "phone": "1"\n}');
  assert.equal(setMember('{"phone":"1"}', "phone", null), "{}");
  assert.equal(setMember('{"phone":"1","a":2}', "phone", null), '{"a":2}');
  assert.equal(setMember("[", "phone", '"1"'), "[");
});

test("the text stays one object in which the member is as it was set", () => {
  fc.assert(fc.property(text, name, fc.option(fc.jsonValue({ maxDepth: 1 })), (sent, member, value) => {
    const valueText = value === null ? null : JSON.stringify(value);
    const after = JSON.parse(setMember(sent, member, valueText));
    const expected = new Map(Object.entries(JSON.parse(sent)));
    if (valueText === null) expected.delete(member);
    else expected.set(member, JSON.parse(valueText));
    assert.deepEqual(
      Object.entries(after).sort(([a], [b]) => a < b ? -1 : 1),
      [...expected].sort(([a], [b]) => a < b ? -1 : 1),
    );
  }));
});

test("a text is indented as JSON.stringify would do it, whatever its white space was", () => {
  fc.assert(fc.property(object, fc.constantFrom(0, 1, "\t"), (value, indent) => {
    assert.equal(indented(JSON.stringify(value, null, indent)), JSON.stringify(value, null, 2));
  }));
});

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
