import assert from "node:assert/strict";
import { test } from "node:test";
import { JsonText, record, renderJson, safe } from "../../src/ctl/terminal.ts";

test("text output escapes terminal control characters", () => {
  assert.equal(safe("a\x1b[2Jb\r\n\tc\x7f\x9b"), "a\\x1b[2Jb\\r\\n\\tc\\x7f\\x9b");
  assert.equal(safe("pay\u202egpj.exe\u2066\u2028\ufeff"), "pay\\u202egpj.exe\\u2066\\u2028\\ufeff");
  assert.equal(safe("\u{e0041}"), "\\u{e0041}");
  assert.equal(safe("\ud800x"), "\ufffdx");
});

test("text in any script and joined emoji are unchanged", () => {
  for (const text of ["Zoë O’Brien", "山田太郎", "می‌خواهم", "👩‍👧", "\\n"]) assert.equal(safe(text), text);
});

test("a name in a record is escaped and cannot widen the column beyond its limit", () => {
  assert.equal(record([["a\x1b[31m\nb", "1"], ["c", "2"]]), "a\\x1b[31m\\nb  1\nc             2");
  assert.equal(record([["x".repeat(50), "1"], ["c", "2"]]), `${"x".repeat(50)}  1\nc${" ".repeat(41)}2`);
});

test("stored JSON is printed verbatim with terminal control characters escaped", () => {
  const stored = '{"__proto__":12345678901234567890,"a":1.10,"b":"\\u0000\x9b\u2028"}';
  const text = renderJson({ extra: new JsonText(stored), list: [], none: null, s: "\x7f\x1b\u202e" });
  assert.ok(text.includes('{"__proto__":12345678901234567890,"a":1.10,"b":"\\u0000\\u009b\\u2028"}'));
  assert.doesNotMatch(text, /[^\n\x20-\x7e]/);
  assert.deepEqual(Object.keys(JSON.parse(text).extra), ["__proto__", "a", "b"]);
  assert.equal(JSON.parse(text).s, "\x7f\x1b\u202e");
  assert.equal(JSON.parse(text).extra.b, "\0\x9b\u2028");
});
