import assert from "node:assert/strict";
import { test } from "node:test";
import { contactDetails, isPlainAddress } from "../../src/notification/content.ts";

const noContact = { phone: "", email: "", street: "", city: "", state: "", zip: "", country: "US" };

test("the Call button dials E.164 and shows the number in its country's format", () => {
  const { buttons } = contactDetails({ ...noContact, phone: "(503) 555-0100 x12" });
  assert.deepEqual(buttons, [{
    label: "Call",
    detail: "(503) 555-0100 ext. 12",
    href: "tel:+15035550100;ext=12",
  }]);
});

for (const phone of ["call me", "5551234567;ext=1;isub=2", "911", "javascript:alert(1)", "0".repeat(200)]) {
  test(`phone ${JSON.stringify(phone.slice(0, 30))} has no button and is shown as sent`, () => {
    const contact = contactDetails({ ...noContact, phone });
    assert.deepEqual(contact.buttons, []);
    assert.deepEqual(contact.rows, [{ label: "Phone", value: phone }]);
    assert.deepEqual(contact.notes, ["The phone number may be wrong. It is shown as sent."]);
  });
}

test("the Email button escapes the address for mailto", () => {
  const { buttons, email } = contactDetails({ ...noContact, email: "o'grace+leads@mail.example.com" });
  assert.deepEqual(buttons, [{
    label: "Email",
    detail: "o'grace+leads@mail.example.com",
    href: "mailto:o%27grace%2Bleads@mail.example.com",
  }]);
  assert.equal(email, "o'grace+leads@mail.example.com");
});

const refused = `
  a@b.example?bcc=victim@evil.example a?subject=x@b.example a&cc=v@b.example a%0d%0a@b.example <v@b.example>
  a@b.example,v@c.example a@b.example;v@c.example a(x)@b.example a@[127.0.0.1] a@b @b.example a@ a@@b.example
  a@b..example .a@b.example a.@b.example a..b@c.example a@-b.example a@b-.example a@b.example. a@b.e1 ä@b.example
  a@bücher.example a@b.example\u202e =?utf-8?q?a?=@b.example`.trim().split(/\s+/);
const withSpace = ["A <victim@evil.example>", "a@b.example\r\nBcc: v@c.example", '"a b"@c.example'];
const long = [`${"a".repeat(65)}@b.example`, `a@${"b".repeat(64)}.example`, `a@${"b.".repeat(130)}example`];
for (const email of [...refused, ...withSpace, ...long]) {
  test(`email ${JSON.stringify(email.slice(0, 40))} has neither a button nor a Reply-To`, () => {
    assert.equal(isPlainAddress(email), false);
    const contact = contactDetails({ ...noContact, email });
    assert.deepEqual([contact.buttons, contact.email], [[], null]);
    assert.equal(contact.rows[0]?.link, undefined);
  });
}
