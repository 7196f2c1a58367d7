import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { contactsOf, type StoredTexts } from "../../src/lead/person.ts";

const nothing: StoredTexts = { lead: null, extra: null, raw: null, contact: null, idempotencyKey: null };
const json = (value: unknown) => JSON.stringify(value);

test("a post's contacts are its addresses and numbers, each once however often and however it is written", () => {
  const lead = { first_name: "Jane", email: "jane@example.com", phone: "+14158675309", zip: "97201" };
  const raw = { ...lead, email: " JANE@example.com", phone: "(415) 867-5309", order: 12345678 };
  assert.deepEqual([...contactsOf({ ...nothing, lead: json(lead), raw: json(raw) })], [
    "email jane@example.com",
    "phone +14158675309",
    "number 12345678",
  ]);
});

test("the contacts of a post are as many as it has values, one line each, however it is made", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.string({ unit: "binary" }), (value, text) => {
      const contacts = contactsOf({ ...nothing, raw: json({ value, email: text, phone: text }) });
      for (const contact of contacts) assert.doesNotMatch(contact, /[\n\0]/);
    }),
  );
});
