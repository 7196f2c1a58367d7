import assert from "node:assert/strict";
import { test } from "node:test";
import { readIdempotencyKey } from "../../src/gate/idempotency_key.ts";

/** Encodes a text as a header value, one character per byte. */
const bytesOf = (text: string) => Buffer.from(text, "utf8").toString("latin1");

test("an Idempotency-Key with control characters is too_long", () => {
  for (const value of ["a\u0000b", "a\u001fb", "a\u007fb", bytesOf("a\u0085b")]) {
    assert.deepEqual(readIdempotencyKey([value]), {
      kind: "too_long",
      detail: "Idempotency-Key contains a control character",
    });
  }
});
