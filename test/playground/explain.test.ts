import assert from "node:assert/strict";
import test from "node:test";
import { explain, lineOf } from "../../src/playground/explain.ts";
import vectors from "../vectors/lead.json" with { type: "json" };

test("every body that is no lead is explained in a sentence", () => {
  for (const { name, body } of vectors.filter(({ kind }) => kind === "invalid_json")) {
    const { text, fields } = explain(body);
    assert.match(text, /^[A-Z][^]*\.$/, name);
    assert.doesNotMatch(text, /undefined|wrong type in {2}/, name);
    for (const why of Object.values(fields)) assert.match(why, /^is .+; .+$/, name);
  }
});

test("it says what is wrong, in words", () => {
  assert.equal(explain(" ").text, "The body is empty. A lead is one JSON object.");
  assert.equal(explain("[]").text, "The body is a list. A lead is one JSON object.");
  assert.equal(explain('"x"').text, "The body is a string. A lead is one JSON object.");
  assert.equal(explain("null").text, "The body is `null`. A lead is one JSON object.");
  assert.equal(
    explain(`{"a":${"[".repeat(70)}${"]".repeat(70)}}`).text,
    "The body nests deeper than 64 levels.",
  );
  const wrong = explain('{"first_name":1,"phone":["x"],"city":{},"cost":"1","extra":null}');
  assert.deepEqual(wrong.fields, {
    first_name: "is a number; text is needed",
    phone: "is a list; text is needed",
    city: "is an object; text is needed",
    cost: "is a string; a number is needed, without quotes",
    extra: "is `null`; only an object may be sent",
  });
  assert.match(wrong.text, /`first_name`, `phone`, `city`, `cost`, `extra`/);
});

test("it says where the JSON breaks, when the browser does", () => {
  const sent = '{\n  "phone": "1",\n}';
  const { text, at } = explain(sent);
  assert.equal(at, sent.length - 1);
  assert.match(text, /^This is not valid JSON in line 3: /);
  assert.equal(explain('{"a":').at, 5);
  assert.equal(lineOf("a\nb\nc", 2), 2);
});

test("the messages of other browsers are understood, and none at all is no harm", (t) => {
  const says = (message: string) =>
    t.mock.method(JSON, "parse", () => {
      throw new SyntaxError(message);
    });
  const sent = '{\n  "phone": 1,\n}';
  says("JSON.parse: expected double-quoted property name at line 3 column 1 of the JSON data");
  assert.deepEqual([explain(sent).at, explain(sent).text], [
    sent.length - 1,
    "This is not valid JSON in line 3: expected double-quoted property name at line 3 column 1.",
  ]);
  says("JSON Parse error: Property name must be a string literal");
  assert.equal(explain(sent).at, null);
  says("");
  assert.equal(explain(sent).text, "This is not valid JSON.");
});
