import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { answerBytesMax, answerText } from "../../src/actions/answer.ts";

const text = (body: string | Uint8Array) => answerText(Buffer.from(body as string));

test("of an answer the first 200 bytes are told, as UTF-8", () => {
  assert.equal(text('{"ok":true}'), '{"ok":true}');
  assert.equal(text("x".repeat(1_000)), "x".repeat(200));
  assert.equal(text(""), "");
});

test("a character that the 200 bytes do not hold whole is left out", () => {
  assert.equal(text("é".repeat(150)), "é".repeat(100));
  assert.equal(text(`x${"é".repeat(150)}`), `x${"é".repeat(99)}`);
  assert.equal(text(`${"x".repeat(199)}😀`), "x".repeat(199));
  assert.equal(text(`${"x".repeat(196)}😀`), `${"x".repeat(196)}😀`);
});

test("control characters are spaces, and what is no UTF-8 is replaced", () => {
  assert.equal(text("a\r\nb\0c\x1b[31md\u2028e\n"), "a b c [31md e");
  assert.equal(text(Uint8Array.of(0x61, 0xff, 0x62, 0xe2, 0x82)), "a\ufffdb\ufffd");
});

test("any bytes give one line of well-formed text, no longer than the bytes that are read", () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 400 }), (body) => {
    const told = answerText(body);
    assert.ok(told.isWellFormed() && !/[\p{Cc}\u2028\u2029]/u.test(told));
    assert.ok(told.length <= answerBytesMax);
  }));
});
