import assert from "node:assert/strict";
import { test } from "node:test";
import { contactSentence, isContact } from "../../src/contract/contact.ts";

test("a contact is an address without characters special to Markdown, HTML or mailto", () => {
  for (const address of ["keys@acme.example", "a.b+c_d%e-f@x-1.example"]) {
    assert.ok(isContact(address), address);
  }
  const refused = [
    "",
    "keys",
    "keys@acme",
    "a@b.example?subject=x",
    "a@b.example)",
    "<a@b.example>",
    "a`b@c.example",
  ];
  for (const text of [...refused, "a@b..example", "a@b.example\n", `${"a".repeat(65)}@b.example`]) {
    assert.ok(!isContact(text), text);
  }
});

test("without a contact the sentence is empty", () => {
  assert.equal(contactSentence(null), "");
  assert.match(contactSentence("keys@acme.example"), /mailto:keys@acme\.example/);
});
