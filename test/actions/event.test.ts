import assert from "node:assert/strict";
import { test } from "node:test";
import { parseEvent } from "../../src/actions/event.ts";
import { eventBody } from "../support/actions/event.ts";

test("content and extra are kept as they were written", () => {
  const content = '{"first_name":"A\\u0000",  "n":12345678901234567890}';
  const extra = '{"p":1.10,"__proto__":{"a":[]}}';
  const parsed = parseEvent(eventBody({ eventId: "e1", content, extra }), "e1");
  assert.ok(!("wrong" in parsed));
  assert.deepEqual([parsed.content, parsed.extra], [content, extra]);
});

test("of duplicate members the last one wins", () => {
  const body = eventBody({ eventId: "e1" }).replace('{"event_id"', '{"lead":{"a":1},"extra":3,"event_id"');
  const parsed = parseEvent(body, "e1");
  assert.ok(!("wrong" in parsed));
  assert.match(parsed.content, /^\{"first_name"/);
  assert.equal(parsed.extra, "{}");
});

test("content as deep as a posted body may be is read, deeper is not", () => {
  const nested = (depth: number) => `{"a":${"[".repeat(depth - 1)}${"]".repeat(depth - 1)}}`;
  const extra = (depth: number) => eventBody({ eventId: "e1", extra: nested(depth) });
  assert.ok(!("wrong" in parseEvent(extra(64), "e1")));
  assert.deepEqual(parseEvent(extra(65), "e1"), { wrong: "body" });
  assert.deepEqual(parseEvent(extra(200_000), "e1"), { wrong: "body" });
});
