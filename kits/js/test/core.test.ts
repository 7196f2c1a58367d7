import assert from "node:assert/strict";
import { test } from "node:test";
import { readFileSync } from "node:fs";
import { readAddress } from "../src/core/address.ts";
import { makeRequestId, readRequestId } from "../src/core/arguments.ts";
import { idempotencyKey, MisconfiguredError, version } from "../src/core/exports.ts";
import { faultOfKey } from "../src/core/key.ts";
import { type Lead, writeLead } from "../src/core/lead.ts";
import { backoffMs, rateLimitMs, readRetryAfter } from "../src/core/waits.ts";

const text = (lead: unknown) => writeLead(lead as Lead);

test("a lead is written as it is given, and decimals digit for digit", () => {
  assert.equal(text({ first_name: " Ada ", cost: 12.5 }), '{"first_name":" Ada ","cost":12.5}');
  assert.equal(text({ cost: "12.50" }), '{"cost":12.50}');
  assert.equal(text({ cost: "0.30000000000000004" }), '{"cost":0.30000000000000004}');
  assert.equal(text({ number: 12345678901234567890n }), '{"number":12345678901234567890}');
  assert.equal(text('{ "cost": 1.0 }'), '{ "cost": 1.0 }');
  assert.equal(
    text(JSON.parse('{"__proto__":{"a":1},"b":"\\u0000"}')),
    '{"__proto__":{"a":1},"b":"\\u0000"}',
  );
  assert.equal(text({ gone: undefined, none: null, toJSON: () => ({ phone: "1" }) }), '{"phone":"1"}');
});

test("a cost that is no decimal stays the text it is: the server says what is wrong with it", () => {
  for (const cost of ["", "12,50", "01", "1.", ".5", "NaN", "1}", "+1", " 1"]) {
    assert.equal(text({ cost }), JSON.stringify({ cost }));
  }
});

test("a lead that JSON cannot hold is refused, in words that do not quote it", () => {
  const circle: Record<string, unknown> = { first_name: "Ada" };
  circle.self = circle;
  for (const lead of [circle, undefined, { deep: { number: 1n } }]) {
    assert.throws(
      () => text(lead),
      (error) => error instanceof MisconfiguredError && !/Ada|self/.test(error.message),
    );
  }
});

test("a key says what is wrong with it, and is never shown", () => {
  const key = "lead_live_FSBrysGrwvg8JDrWLyCG6ImS27h1sR3g0fULLN";
  assert.equal(faultOfKey(key), null);
  assert.match(faultOfKey("form_test_YNOLPdY0Jlvd6HldTuwBy2zExsMyn3q23OqNaS") ?? "", /forms key/);
  for (const wrong of [key.slice(0, -1), `${key}x`, key.replace("F", "G"), `${key}\n`, "lead_test_"]) {
    assert.match(faultOfKey(wrong) ?? "", /mistyped or cut off/);
    assert.ok(!faultOfKey(wrong)?.includes(wrong));
  }
  for (const wrong of ["", undefined, 5, "sk_live_1"]) assert.ok(faultOfKey(wrong));
});

test("an address is https, or http to this machine, and nothing but an address", () => {
  const right: Record<string, string> = {
    "https://a.example": "https://a.example",
    "https://a.example/": "https://a.example",
    "HTTPS://A.example/leads/": "https://a.example/leads",
    "http://127.9.8.7:80": "http://127.9.8.7",
    "http://[::1]:9000/": "http://[::1]:9000",
    "http://localhost:9000": "http://localhost:9000",
  };
  for (const [given, read] of Object.entries(right)) assert.equal(readAddress(given), read);
  const wrong = [
    "",
    "a.example",
    "http://a.example",
    "http://localhost.a.example",
    "http://127.0.0.1.a.example",
    "ftp://a.example",
    "https://user:secret@a.example",
    "https://@a.example",
    "https://a.example?",
    "https://a.example#",
    "https://a.example/ b",
    "https:\\\\a.example",
    "https:///a.example",
    "https://a.example:99999",
    `https://a.example/${"x".repeat(2_048)}`,
    undefined,
  ];
  for (const given of wrong) {
    assert.throws(
      () => readAddress(given),
      (error) => error instanceof MisconfiguredError && !/secret|a\.example/.test(error.message),
      String(given),
    );
  }
});

test("an idempotency key is a namespace and an id", () => {
  assert.equal(idempotencyKey("acme", "4711"), "acme:4711");
  assert.equal(idempotencyKey("a", "x".repeat(198)).length, 200);
  for (
    const [namespace, id] of [["", "1"], ["a", " "], ["a", "x".repeat(199)], ["a", "é"], [
      "a\n",
      "1",
    ]] as const
  ) {
    assert.throws(() => idempotencyKey(namespace, id), MisconfiguredError);
  }
});

test("a request id is the kit's name and 16 random letters or digits", () => {
  const made = Array.from({ length: 100 }, () => makeRequestId("leads-js"));
  for (const id of made) assert.match(readRequestId(id), /^leads-js-[0-9a-z]{16}$/);
  assert.equal(new Set(made).size, made.length);
});

test("waits grow to 30 seconds, with half of them drawn", () => {
  assert.deepEqual([1, 2, 3, 6, 99].map((retry) => backoffMs(retry, 1, null)), [
    1_000,
    2_000,
    4_000,
    30_000,
    30_000,
  ]);
  assert.equal(backoffMs(2, 0, null), 1_000);
  assert.equal(backoffMs(1, 1, 7_000), 7_000);
  assert.deepEqual([1, 2, 3, 9].map((inRow) => rateLimitMs(inRow, 0, 4_000)), [4_000, 8_000, 16_000, 30_000]);
  assert.equal(rateLimitMs(1, 1, 60_000), 75_000);
  assert.equal(rateLimitMs(1, 0, null), 1_000);
  assert.equal(rateLimitMs(1, 0, 0), 1_000);
  assert.equal(rateLimitMs(1, 0, Infinity), Infinity);
});

test("Retry-After is whole seconds or an HTTP date in one of its three forms", () => {
  const nowMs = Date.UTC(2026, 8, 3, 10, 0, 0);
  const read = (value: string | null) => readRetryAfter(value, nowMs);
  assert.equal(read("7"), 7_000);
  assert.equal(read(" 0 "), 0);
  assert.equal(read("9".repeat(400)), Infinity);
  for (
    const date of [
      "Thu, 03 Sep 2026 10:00:05 GMT",
      "Thursday, 03-Sep-26 10:00:05 GMT",
      "Thu Sep  3 10:00:05 2026",
    ]
  ) {
    assert.equal(read(date), 5_000, date);
  }
  assert.equal(read("Sunday, 06-Nov-94 08:49:37 GMT"), 0);
  const unreadable = [
    null,
    "",
    "-1",
    "+1",
    "1.5",
    "1e3",
    "soon",
    "2026-09-03T10:00:05Z",
    "1, 2",
    "Thu, 32 Sep 2026 10:00:05 GMT",
    "Thu, 31 Sep 2026 10:00:05 GMT",
    "Thu, 03 Sep 2026 24:00:05 GMT",
    "Thu, 03 Sep 2026 10:00:05 PST",
  ];
  for (const value of unreadable) assert.equal(read(value), null, String(value));
});

test("the manifest has the version that the User-Agent tells", () => {
  assert.equal(
    JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")).version,
    version,
  );
});
