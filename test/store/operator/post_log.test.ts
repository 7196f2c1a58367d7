import assert from "node:assert/strict";
import { test } from "node:test";
import { duplicateText } from "../../../src/store/operator/post_log.ts";

test("a duplicate is described by its distance, its sender and what was the same", () => {
  const event = { receivedAt: "2026-03-01T10:00:00.500Z", keyId: "1", dedupeSpace: "k" };
  const post = {
    at: "2026-03-01T10:04:00.600Z",
    keyId: "1",
    source: "web",
    requestId: "r",
    idempotencyKey: "j",
  };
  const cases: readonly [typeof event, typeof post | { requestId: null }, string][] = [
    [event, {}, "posted 4 minutes later with the same Idempotency-Key (request id r)"],
    [
      event,
      { at: "2026-03-01T10:00:00.400Z" },
      "posted within a second with the same Idempotency-Key (request id r)",
    ],
    [
      event,
      { at: "2026-03-01T10:00:01.600Z" },
      "posted 1 second later with the same Idempotency-Key (request id r)",
    ],
    [
      event,
      { at: "2026-03-03T10:00:00.500Z" },
      "posted 2 days later with the same Idempotency-Key (request id r)",
    ],
    [event, { keyId: "2" }, "posted 4 minutes later by web with the same Idempotency-Key (request id r)"],
    [{ ...event, dedupeSpace: "C" }, { requestId: null }, "posted 4 minutes later with the same content"],
  ] as never;
  for (const [of, members, text] of cases) assert.equal(duplicateText({ ...post, ...members }, of), text);
});
