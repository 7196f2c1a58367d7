import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { hasTagStrongly, hasTagWeakly, parseTags, strongTag } from "#src/http/etag.ts";

test("a strong tag is of the bytes alone", () => {
  const tag = (text: string) => strongTag(createHash("sha256").update(text).digest());
  assert.match(tag("a"), /^"[\w-]{22}"$/);
  assert.equal(tag("a"), tag("a"));
  assert.notEqual(tag("a"), tag("b"));
});

test("a list of tags is read, commas within them and all, and what is no tag is left out", () => {
  assert.deepEqual(parseTags('"a"'), ['"a"']);
  assert.deepEqual(parseTags(' "a" ,W/"b",, "c,d" ,""'), ['"a"', 'W/"b"', '"c,d"', '""']);
  assert.deepEqual(parseTags("a, 'b', W/c"), []);
  assert.equal(parseTags(" * "), "*");
  assert.deepEqual(parseTags('*, "a"'), ['"a"']);
});

test("the strong comparison takes no weak tag, the weak one does", () => {
  assert.equal(hasTagStrongly('"b", "a"', '"a"'), true);
  assert.equal(hasTagStrongly('W/"a"', '"a"'), false);
  assert.equal(hasTagStrongly('W/"a"', 'W/"a"'), false);
  assert.equal(hasTagStrongly("*", '"a"'), true);
  assert.equal(hasTagStrongly("", '"a"'), false);
  assert.equal(hasTagWeakly('"b", W/"a"', '"a"'), true);
  assert.equal(hasTagWeakly('"a"', 'W/"a"'), true);
  assert.equal(hasTagWeakly('"b"', '"a"'), false);
  assert.equal(hasTagWeakly("a", '"a"'), false);
});
