import assert from "node:assert/strict";
import { test } from "node:test";
import { cursorBefore, readCursor } from "../../src/ops/cursor.ts";

const id = "0660bd1782f0d200016cea739903366605de5c";

test("a cursor comes back as the place it was made of, for its question alone", () => {
  for (const place of [id, "0660bg"]) {
    const cursor = cursorBefore(place, "q");
    assert.match(cursor, /^[\w-]+$/);
    assert.equal(readCursor(cursor, "q"), place);
    assert.equal(readCursor(cursor, "p"), null);
  }
});

test("a cursor that differs in any character, or in its length, is none", () => {
  const cursor = cursorBefore(id, "q");
  for (let at = 0; at < cursor.length; at += 1) {
    const other = cursor[at] === "A" ? "B" : "A";
    assert.equal(readCursor(cursor.slice(0, at) + other + cursor.slice(at + 1), "q"), null, String(at));
    assert.equal(readCursor(cursor.slice(0, at), "q"), null);
  }
  for (const more of [`${cursor}=`, `${cursor} `, ` ${cursor}`, `${cursor}A`, "", "🙂"]) {
    assert.equal(readCursor(more, "q"), null);
  }
});
