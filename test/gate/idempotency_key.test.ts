import assert from "node:assert/strict";
import { test } from "node:test";
import { limits } from "../../src/contract/limits.ts";
import { readIdempotencyKey } from "../../src/gate/idempotency_key.ts";

/** As a header has it: one character per byte. */
const bytesOf = (text: string) => Buffer.from(text, "utf8").toString("latin1");

test("no header and a blank one are absent", () => {
  assert.deepEqual(readIdempotencyKey([]), { kind: "absent" });
  for (const value of ["", " ", "\t "]) {
    assert.deepEqual(readIdempotencyKey([value]), { kind: "absent" });
  }
});

test("bytes are kept as they came, text is their UTF-8", () => {
  const read = readIdempotencyKey([bytesOf("crm:é-屋")]);
  assert.ok(read.kind === "present");
  assert.equal(read.text, "crm:é-屋");
  assert.deepEqual(Buffer.from(read.bytes), Buffer.from("crm:é-屋"));
});

test("bytes that are not UTF-8 are a key too, and another one than the UTF-8 of the same letter", () => {
  const [latin, utf8] = [readIdempotencyKey(["crm:\xe9"]), readIdempotencyKey([bytesOf("crm:é")])];
  assert.ok(latin.kind === "present" && utf8.kind === "present");
  assert.deepEqual([...latin.bytes], [...Buffer.from("crm:"), 0xe9]);
  assert.notDeepEqual(latin.bytes, utf8.bytes);
});

test("as many characters as the cap fit, and one more is too long; characters are code points where the bytes are UTF-8", () => {
  const most = limits.idempotencyKeyLengthMax;
  assert.equal(readIdempotencyKey(["k".repeat(most)]).kind, "present");
  assert.equal(readIdempotencyKey(["k".repeat(most + 1)]).kind, "too_long");
  assert.equal(readIdempotencyKey([bytesOf("🏠".repeat(most))]).kind, "present");
  assert.equal(readIdempotencyKey([bytesOf("🏠".repeat(most + 1))]).kind, "too_long");
  assert.equal(readIdempotencyKey(["\xe9".repeat(most)]).kind, "present");
  assert.equal(readIdempotencyKey(["\xe9".repeat(most + 1)]).kind, "too_long");
});

test("control characters make it too_long", () => {
  for (const value of ["a\u0000b", "a\u001fb", "a\u007fb", bytesOf("a\u0085b")]) {
    assert.deepEqual(readIdempotencyKey([value]), { kind: "too_long" });
  }
});

test("of several lines none is believed, be they alike or blank", () => {
  for (const lines of [["a", "b"], ["a", "a"], ["", "a"], ["a", ""]]) {
    const detail = "Idempotency-Key was sent 2 times; one is needed";
    assert.deepEqual(readIdempotencyKey(lines), {
      kind: "repeated",
      detail,
      reason: "repeated_idempotency_key",
    });
  }
});
