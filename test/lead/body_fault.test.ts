import assert from "node:assert/strict";
import { deflateSync, gzipSync } from "node:zlib";
import { test } from "node:test";
import fc from "fast-check";
import { generateKey } from "../../src/contract/api_key.ts";
import {
  bodyFormats,
  bytesFault,
  displayName,
  lineAndColumn,
  objectFault,
} from "../../src/lead/body_fault.ts";
import { validate } from "../../src/lead/validate.ts";
import { fieldsFault, readFields } from "../../src/forms/fields.ts";
import { areas } from "../support/lead/areas.ts";
import { runs } from "../support/lead/properties.ts";

const minimal = '{"first_name":"Ada","last_name":"Lovelace","phone":"415-555-0123"}';
const detailOf = (text: string) => objectFault(text, "lead").detail;

test("a fault's position is its line and column, counted from 1", () => {
  assert.deepEqual(lineAndColumn("abc", 0), { line: 1, column: 1 });
  assert.deepEqual(lineAndColumn("a\nbc", 3), { line: 2, column: 2 });
  assert.deepEqual(lineAndColumn("a\r\nb\rc", 5), { line: 3, column: 1 });
  assert.deepEqual(lineAndColumn("🏠é\u0301x", 4), { line: 1, column: 4 });
  assert.equal(detailOf('{\n  "phone": "1",\n}'), "line 2, column 15: a trailing comma; remove it");
});

test("detail names the format of a body that is not JSON", () => {
  const seen: Readonly<Record<string, readonly string[]>> = {
    empty: ["", " \r\n"],
    form_encoded: ["first_name=Ada&phone=1", "lead%5Bphone%5D=1", "lead[phone]=1", "data={}"],
    multipart: ['--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--x--'],
    html: ["<!DOCTYPE html><p>", " <html>"],
    xml: ['<?xml version="1.0"?><lead/>', "<lead/>"],
    percent_encoded: ["%7B%22first_name%22%3A1%7D"],
    base64: [minimal, `{ "a":1}${minimal}`, `{\n${minimal}`, `[${minimal}]`].map((text) => btoa(text)),
    object_object: ["[object Object]", "[object FormData]"],
    utf16: [[...minimal].join("\0"), `\0${[...minimal].join("\0")}`],
  };
  for (const [format, texts] of Object.entries(seen)) {
    for (const text of texts) {
      const { detail, reason } = objectFault(text, "lead");
      assert.deepEqual([reason, detail], [format, bodyFormats[format as keyof typeof bodyFormats]], text);
    }
  }
});

test("detail names a form's field that has an array or an object as its value", () => {
  const valueNeeded = "a string, number, boolean or null is needed";
  for (const [value, type] of [["[1]", "an array"], ["{}", "an object"]]) {
    const { detail, reason } = fieldsFault(`{"name":"Jo","boxes":${value}}`);
    assert.deepEqual([reason, detail], ["nested_value", `boxes is ${type}; ${valueNeeded}`]);
  }
});

test("detail names the type of a JSON value that is not an object", () => {
  assert.equal(detailOf("[]"), "the body is an array; send one lead per request, as an object");
  assert.equal(detailOf("null"), "the body is null; send a JSON object");
  assert.equal(detailOf("true"), "the body is a boolean; send a JSON object");
  assert.equal(detailOf("1"), "the body is a number; send a JSON object");
  assert.equal(detailOf('"x"'), "the body is a string; send a JSON object");
  assert.match(
    detailOf(JSON.stringify(minimal)),
    /^the body is a string that contains JSON, because it was encoded twice/,
  );
  assert.equal(
    detailOf(`${minimal}\n${minimal}`),
    "line 2, column 1: a second object; send one lead per request",
  );
});

test("detail names the format of bytes that are not UTF-8, or the position of the first invalid byte", () => {
  const utf16 = Buffer.from(`\ufeff${minimal}`, "utf16le");
  for (const bytes of [gzipSync(minimal), deflateSync(minimal), Buffer.from("PK\x03\x04\xff", "latin1")]) {
    assert.equal(bytesFault(bytes).reason, "compressed");
  }
  assert.equal(bytesFault(utf16).reason, "utf16");
  assert.equal(bytesFault(utf16.swap16()).reason, "utf16");
  const latin1 = Buffer.from('{\n"a":"é"}', "latin1");
  assert.equal(bytesFault(latin1).detail, `${bodyFormats.not_utf8}: line 2, column 6`);
  const afterReplaced = Buffer.concat([Buffer.from("🏠\ufffd"), Buffer.from([0xff])]);
  assert.equal(bytesFault(afterReplaced).detail, `${bodyFormats.not_utf8}: line 1, column 3`);
  assert.match(bytesFault(Buffer.from([0x61, 0xef, 0xbf])).detail, /line 1, column 2$/);
  const afterWide = Buffer.concat([Buffer.from('{"a":"é€😀\ufffd'), Buffer.from([0xff])]);
  assert.match(bytesFault(afterWide).detail, /line 1, column 11$/);
});

test("detail shows at most 64 characters of a field's name, escapes invisible ones, and hides API keys", () => {
  assert.equal(displayName("first-name.1"), "first-name.1");
  assert.equal(displayName("Vor name"), '"Vor name"');
  assert.equal(displayName(""), '""');
  assert.equal(displayName("a\n\u202eb\ud800"), '"a\\u{a}\\u{202e}b\ufffd"');
  assert.equal(displayName("🏠".repeat(64)), `"${"🏠".repeat(64)}"`);
  assert.equal(displayName("x".repeat(65)), `"${"x".repeat(64)}…"`);
  const key = generateKey({ surface: "intake", sandbox: false }, (bytes) => void bytes.fill(7));
  assert.equal(displayName(`my ${key}`), "a field");
});

/** A letter that appears in none of the service's texts. */
const canary = "ж";
const secret = fc.string({
  unit: fc.constantFrom(canary, canary, '"', "\\", "\n", " ", ":", ","),
  minLength: 1,
  maxLength: 20,
})
  .map((text) => `${canary}${text}`);

test("detail never contains a value or more than 64 characters of a name, however the body is malformed", () => {
  const value = fc.oneof(
    secret.map((text) => JSON.stringify(text)),
    secret.map((text) => `"${text}"`),
    secret,
    secret.map((text) => `[${JSON.stringify(text)}]`),
    secret.map((text) => `{${JSON.stringify(text)}:${JSON.stringify(text)}}`),
  );
  const name = fc.constantFrom(
    "first_name",
    "last_name",
    "phone",
    "cost",
    "extra",
    "email",
    "a",
    "firstName",
    "x".repeat(300),
  );
  const member = fc.tuple(name, value, fc.constantFrom(",", "", ";", ",,")).map(([name, value, separator]) =>
    `"${name}":${value}${separator}`
  );
  const body = fc.tuple(
    fc.constantFrom("{", "[", "", "{'", "\ufeff{"),
    fc.array(member, { maxLength: 6 }),
    fc.constantFrom("}", "", "]", "}{"),
  )
    .map(([first, members, last]) => `${first}${members.join("")}${last}`);
  fc.assert(
    fc.property(body, (text) => {
      const verdict = validate(text, areas);
      const details = [
        verdict.kind === "valid" ? "" : verdict.detail ?? "",
        readFields(text) === null ? fieldsFault(text).detail : "",
      ];
      for (const detail of details) {
        assert.ok(!detail.includes(canary), detail);
        assert.doesNotMatch(detail, /x{65}/);
      }
      if (verdict.kind !== "valid") assert.doesNotMatch(verdict.reason ?? "", /x{3}|firstName/);
    }),
    { numRuns: 5 * runs.numRuns },
  );
});
