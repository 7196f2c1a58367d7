import assert from "node:assert/strict";
import { test } from "node:test";
import { isPlainAddress, reachOf } from "../../../src/actions/notification/content.ts";

const nobody = { phone: "", email: "", street: "", city: "", state: "", zip: "", country: "US" };
test("a button calls the number in E.164, and shows it as people of its country write it", () => {
  const call = (phone: string, country = "US") => reachOf({ ...nobody, phone, country }).buttons[0];
  assert.deepEqual(call("+15035550100"), {
    label: "Call",
    detail: "(503) 555-0100",
    href: "tel:+15035550100",
  });
  assert.equal(call("+15035550100", "CA")?.detail, "(503) 555-0100");
  assert.equal(call("+15035550100", "CH")?.detail, "+1 503 555 0100");
  assert.deepEqual(call("044 668 18 00", "CH"), {
    label: "Call",
    detail: "044 668 18 00",
    href: "tel:+41446681800",
  });
  assert.equal(call("+41 44 668 18 00")?.detail, "+41 44 668 18 00");
  assert.deepEqual(call("(503) 555-0100 x12"), {
    label: "Call",
    detail: "(503) 555-0100 ext. 12",
    href: "tel:+15035550100;ext=12",
  });
});

for (
  const phone of [
    ...[
      "call me",
      "1-800-FLOWERS",
      "5551234567;ext=1;isub=2",
      "tel:+1",
      "*67 503 555 0100",
      "911",
    ],
    ...["+15035550100,,123#", "javascript:alert(1)", '+1503555"0100', "0".repeat(200)],
  ]
) {
  test(`${JSON.stringify(phone.slice(0, 30))} is no number to call, and is shown as it was sent`, () => {
    const reach = reachOf({ ...nobody, phone });
    assert.deepEqual(reach.buttons, []);
    assert.deepEqual(reach.rows, [{ label: "Phone", value: phone }]);
    assert.equal(reach.isPhoneDoubtful, true);
  });
}

test("a button writes to the address, of which nothing is special in a mailto: address", () => {
  const { buttons, email } = reachOf({ ...nobody, email: "o'grace+leads@mail.example.com" });
  assert.deepEqual(buttons, [{
    label: "Mail",
    detail: "o'grace+leads@mail.example.com",
    href: "mailto:o%27grace%2Bleads@mail.example.com",
  }]);
  assert.equal(email, "o'grace+leads@mail.example.com");
});

for (
  const email of [
    ...[
      "a@b.example?bcc=victim@evil.example",
      "a?subject=x@b.example",
      "a&cc=v@b.example",
      "a%0d%0a@b.example",
    ],
    ...["A <victim@evil.example>", "<v@b.example>", "a@b.example,v@c.example", "a@b.example;v@c.example"],
    ...[
      "a@b.example\r\nBcc: v@c.example",
      "a b@c.example",
      '"a b"@c.example',
      "a(x)@b.example",
      "a@[127.0.0.1]",
    ],
    ...[
      "a@b",
      "@b.example",
      "a@",
      "a@@b.example",
      "a@b..example",
      ".a@b.example",
      "a.@b.example",
      "a..b@c.example",
    ],
    ...[
      "a@-b.example",
      "a@b-.example",
      "a@b.example.",
      "a@b.e1",
      "ä@b.example",
      "a@bücher.example",
      "a@b.example\u202e",
    ],
    ...[
      `${"a".repeat(65)}@b.example`,
      `a@${"b".repeat(64)}.example`,
      `a@${"b.".repeat(130)}example`,
      "=?utf-8?q?a?=@b.example",
    ],
  ]
) {
  test(`${JSON.stringify(email.slice(0, 40))} gets neither a button nor the answers`, () => {
    assert.equal(isPlainAddress(email), false);
    const reach = reachOf({ ...nobody, email });
    assert.deepEqual([reach.buttons, reach.email], [[], null]);
    assert.equal(reach.rows[0]?.link, undefined);
  });
}
