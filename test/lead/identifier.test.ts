import assert from "node:assert/strict";
import { test } from "node:test";
import { type Readings, readingsOf } from "../../src/lead/identifier.ts";

const id = "0661a2b3c4d5e6f7a8b9c0d1e2f3a4b5c6d7e8";

/** Texts, what each looks like, and some of its readings. */
const cases: readonly (readonly [text: string, looksLike: string, readings: Partial<Readings>])[] = [
  [id, "an event id", { eventId: id, phone: null, ids: [id] }],
  [` ${id.toUpperCase()}\n`, "an event id", { eventId: id }],
  [`"${id}"`, "an event id", { eventId: id, ids: [id, `"${id}"`] }],
  ["DEADBEEF0123456789ABCDEF", "a request id", {
    ids: ["DEADBEEF0123456789ABCDEF", "deadbeef0123456789abcdef"],
  }],
  ["0661a2b3…", "the beginning of an event id", { eventId: "0661a2b3", ids: ["0661a2b3…"] }],
  ["06618006", "the beginning of an event id", { eventId: "06618006", phone: "06618006" }],
  ["06618006…", "the beginning of an event id", { eventId: "06618006" }],
  ["4155550171", "a phone number", { eventId: "4155550171", phone: "+14155550171" }],
  ["0661a2b", "an Idempotency-Key, an external_id or a request id", { eventId: null, names: ["0661a2b"] }],
  ["0123456789abcdef01234567", "a request id", { eventId: "0123456789abcdef01234567" }],
  ["(415) 555-0171", "a phone number", { phone: "+14155550171", names: [] }],
  ["tel:+1.415.555.0171", "a phone number", { phone: "+14155550171" }],
  ["+44 20 7946 0958", "a phone number", { phone: "442079460958", ids: ["+44 20 7946 0958"] }],
  ["0044 20 7946 0958", "a phone number", { phone: "442079460958" }],
  ["415-555-0171 ext. 12", "a phone number", { phone: "+14155550171" }],
  ["٤١٥٥٥٥٠١٧١", "a phone number", { phone: "+14155550171" }],
  ["5550171", "a phone number", { phone: "5550171" }],
  ["Ada@Example.com", "an email address", { emails: ["ada@example.com"], names: [], phone: null }],
  ["Ada Lovelace <mailto:Ada@Example.com>", "an email address", {
    emails: ["ada@example.com", "mailto:ada@example.com"],
  }],
  ["mailto:ada@example.com", "an email address", { emails: ["ada@example.com", "mailto:ada@example.com"] }],
  ['"key 1"', "an Idempotency-Key, an external_id or a request id", { ids: ["key 1", '"key 1"'] }],
  ["Lovelace", "a name", { names: ["lovelace"], phone: null, emails: [], eventId: null }],
  ["  ada   LOVE ", "a name", { names: ["ada love"], ids: ["ada   LOVE", "ada LOVE"] }],
  ["Lovelace, Ada", "a name", { names: ["lovelace, ada", "ada lovelace"] }],
  ["renée ÉMILE", "a name", { names: ["renée émile", "renée Émile", "renÉe Émile"] }],
  ["crm:lead:1234567", "an Idempotency-Key, an external_id or a request id", {
    phone: null,
    names: ["crm:lead:1234567"],
  }],
  ["order 12", "an Idempotency-Key, an external_id or a request id", { ids: ["order 12"], phone: null }],
  ["?!", "an Idempotency-Key, an external_id or a request id", { ids: ["?!"], names: [] }],
];

test("a text is recognized by its shape, and has every reading that its shape allows", () => {
  for (const [text, looksLike, expected] of cases) {
    const readings = readingsOf(text);
    assert.ok(typeof readings !== "string", text);
    const found = Object.fromEntries(
      Object.keys(expected).map((name) => [name, readings[name as keyof Readings]]),
    );
    assert.deepEqual([readings.looksLike, found], [looksLike, expected], text);
  }
});

test("a text that can identify nothing is refused with the reason", () => {
  for (
    const [text, reason] of [
      ["", /blank/],
      [" \t\u0001 ", /blank/],
      ["x".repeat(255), /254 characters/],
      [`key: lead_live_${"a".repeat(38)}`, /^This is an API key/],
    ] as const
  ) assert.match(String(readingsOf(text)), reason);
});
