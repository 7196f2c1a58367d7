import assert from "node:assert/strict";
import { test } from "node:test";
import { readingsOf } from "../../src/lead/identifier.ts";

test("a text is recognized by its shape, and an API key is no identifier", () => {
  const id = "0660bd1782f0d200016cea739903366605de5c";
  for (
    const [text, looksLike, eventId] of [
      [id, "an event id", id],
      ["0660bd17", "the beginning of an event id", "0660bd17"],
      ["(503) 555-0101", "a phone number", null],
      ["5035550101", "a phone number", "5035550101"],
      ["grace@example.com", "an email address", null],
      ["O’Neill, Grace", "a name", null],
      ["partner:4711", "an Idempotency-Key, an external_id or a request id", null],
    ] as const
  ) assert.deepEqual(readingsOf(text), { looksLike, eventId });
  assert.match(readingsOf(`lead_live_${"a".repeat(38)}`) as string, /^This is an API key/);
});
