import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  canonicalFields as canonicalText,
  type Posted,
  readFields,
  submissionText,
} from "../../src/forms/fields.ts";

function posted(body: string): Posted {
  const read = readFields(body);
  assert.ok(read, body);
  return read;
}

const canonicalFields = (posted: Posted, isIdentified = true) => canonicalText(posted, { isIdentified });
const values = (body: string) =>
  Object.fromEntries([...posted(body).fields].map(([n, { value }]) => [n, value]));

test("fields are preserved verbatim with digits, spaces and escapes", () => {
  const body =
    '{"n":12345678901234567890,"p":1.10,"s":"  a\\tb ","é":"\\u00e9","__proto__":"x","constructor":null}';
  assert.equal(submissionText(posted(body)), body);
  assert.equal(values(body).__proto__, "x");
  assert.equal(Object.getPrototypeOf(values(body)), Object.prototype);
});

test("of duplicate members the last one wins, and only it must be flat", () => {
  assert.equal(submissionText(posted('{"a":1,"b":2,"a":3}')), '{"a":3,"b":2}');
  assert.deepEqual(values('{"a":[1],"a":"x"}'), { a: "x" });
  assert.equal(readFields('{"a":"x","a":[1]}'), null);
});

test("lone surrogates become U+FFFD and U+0000 is removed, in names too", () => {
  assert.equal(
    submissionText(posted('{"a":"\\ud800x","b\\u0000":"y\\u0000z"}')),
    '{"a":"\\ufffdx","b":"yz"}',
  );
  assert.equal(submissionText(posted('{"a":"\\\\u0000\\\\ud800"}')), '{"a":"\\\\u0000\\\\ud800"}');
  assert.deepEqual(values('{"web\\u0000site":"x"}'), { website: "x" });
  assert.equal(readFields('{\\u0000"a":1}'), null, "removal does not make a text valid");
});

test("the honeypot is filled by text, a number or true, not by blank, null or false", () => {
  for (const value of ['"x"', '" . "', "1", "0", "true", '"false"', '"\\u00a0x"']) {
    const { isHoneypotFilled, fields } = posted(`{"website":${value}}`);
    assert.equal(isHoneypotFilled, true, value);
    assert.equal(fields.has("website"), true, "the value is stored");
  }
  for (
    const value of ['""', '"  \\t\\n "', '"\\u00a0\\u3000\\u2028"', '"\\u0007"', '"\\u0000"', "null", "false"]
  ) {
    const { isHoneypotFilled, fields } = posted(`{"website":${value}}`);
    assert.equal(isHoneypotFilled, false, value);
    assert.equal(fields.size, 0);
  }
  assert.equal(posted('{"Website":"x","website ":"y"}').isHoneypotFilled, false, "only the exact name");
});

test("the canonical text is the same for every spelling of a submission", () => {
  const same = [
    '{"name":"Ada  Lovelace","n":1.1,"m":"a\\nb"}',
    '{ "n" : 1.10, "m":" a \\r\\n b ", "name":"\\u0041da Lovelace" }',
    '{"form_key":"x","website":"","empty":"","nothing":null,"name":"Ada Lovelace","n":11e-1,"m":"a\\nb"}',
  ].map((body) => canonicalFields(posted(body)));
  assert.equal(new Set(same).size, 1, same.join("\n"));
  const others = [
    '{"name":"Ada"}',
    '{"name":"ada"}',
    '{"name":"Ada","x":0}',
    '{"name":1}',
    '{"name":"1"}',
    '{"name":true}',
    '{"n":12345678901234567890}',
    '{"n":12345678901234567891}',
    '{"a":"1,\\"b\\":2"}',
    '{"a":"1","b":2}',
    '{"a":"x\\ny"}',
    '{"a":"x y"}',
  ].map((body) => canonicalFields(posted(body)));
  assert.equal(new Set(others).size, others.length);
});

test("a reload, a page rendered again and the page's address change nothing, but the visitor's own fields do", () => {
  const filledIn = { name: "Rene\u0301", message: "Our roof leaks" };
  const rendered = (count: number, more: Record<string, unknown> = {}) =>
    canonicalFields(posted(JSON.stringify({
      ...filledIn,
      ...more,
      form_started_at: 1_795_877_127_399 + count,
      _wpnonce: `a1b2${count}`,
      csrfmiddlewaretoken: `x${count}`,
      "g-recaptcha-response": `03AG${count}`,
      xxTrustedFormCertUrl: `https://cert.trustedform.com/${count}`,
      page_url: `https://acme.example/quote?retry=${count}`,
      referrer: `https://acme.example/${count}`,
    })));
  assert.equal(rendered(1), rendered(2));
  assert.equal(rendered(1), rendered(2, { name: "Ren\u00e9" }), "in any composition");
  assert.equal(rendered(1), canonicalFields(posted(JSON.stringify(filledIn))), "with and without JavaScript");
  for (
    const more of [{ message: "Our roof leaks!" }, { ip: "192.0.2.1" }, { session_id: "s2" }, { token2: 1 }]
  ) {
    assert.notEqual(rendered(1), rendered(1, more), Object.keys(more).join());
  }
});

test("posts that do not name their sender differ by every field, because they may be several people's", () => {
  const vote = (token: string) => canonicalFields(posted(`{"token":"${token}","rating":"5"}`), false);
  assert.notEqual(vote("inv-0001"), vote("inv-0002"));
});

test("the submission of any flat object is valid JSON, and reading it again changes nothing", () => {
  const value = fc.oneof(fc.string({ unit: "binary" }), fc.double(), fc.boolean(), fc.constant(null));
  fc.assert(fc.property(fc.dictionary(fc.string({ unit: "binary" }), value), (object) => {
    const body = JSON.stringify(object);
    const text = submissionText(posted(body));
    JSON.parse(text);
    assert.ok(text.isWellFormed() && !text.includes("\\u0000"));
    assert.equal(submissionText(posted(text)), text);
    assert.equal(canonicalFields(posted(text)), canonicalFields(posted(body)));
  }));
});

test("no text makes readFields throw, and it accepts only JSON objects", () => {
  const piece = fc.constantFrom(
    '"',
    "\\",
    "u",
    "d800",
    "0000",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "a",
    "1e9",
    "null",
    " ",
  );
  fc.assert(fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
    for (const text of [pieces.join(""), `{"a":"${pieces.join("")}"}`]) {
      if (readFields(text) !== null) assert.ok(JSON.parse(text) instanceof Object);
    }
  }));
});
