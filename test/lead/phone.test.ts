import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { getCountries, getCountryCallingCode } from "libphonenumber-js/min";
import { searchedPhone, toE164 } from "../../src/lead/phone.ts";
import { withoutControls } from "../../src/lead/text.ts";
import { messyText, runs } from "../support/lead/properties.ts";

test("every decimal digit of Unicode is read", () => {
  let count = 0;
  for (let code = 0, value = 0; code <= 0x10ffff; code++) {
    const char = String.fromCodePoint(code);
    if (!/^\p{Nd}$/u.test(char)) {
      value = 0;
      continue;
    }
    assert.equal(toE164(`212555012${char}`, "US"), `+1212555012${value}`, `U+${code.toString(16)}`);
    value = (value + 1) % 10;
    count++;
  }
  assert.ok(count >= 650 && count % 10 === 0, `${count} digits`);
});

test("ten bare digits are normalized only for countries of calling code 1", () => {
  for (const country of getCountries()) {
    const expected = getCountryCallingCode(country) === "1" ? "+14155550123" : null;
    assert.equal(toE164("415-555-0123", country), expected, country);
    assert.equal(toE164("1-415-555-0123", country), "+14155550123", country);
  }
  const northAmerican = getCountries().filter((country) => getCountryCallingCode(country) === "1");
  for (const country of ["US", "CA", "PR", "JM", "DO", "BS"] as const) {
    assert.ok(northAmerican.includes(country), country);
  }
  for (const country of ["ZZ", "XX", "UK", "AQ"]) assert.equal(toE164("4155550123", country), null, country);
  for (const country of ["France", "12", "ÉÉ", "us", ""]) {
    assert.equal(toE164("4155550123", country), "+14155550123", country);
  }
});

test("the search reads a number as +1 and ten digits, as the digits of another number, or as the text", () => {
  const extensions = ["x7", " x 7", ", ext. 77", ";ext=777", " #7", " Extension: 7 "];
  for (
    const typed of [
      "+14155550123",
      "4155550123",
      "1 (415) 555-0123",
      "٤١٥٥٥٥٠١٢٣",
      ...extensions.map((text) => `(415) 555-0123${text}`),
    ]
  ) assert.equal(searchedPhone(typed), "+14155550123", typed);
  for (const typed of ["+44 20 7946 0958", "0044 20 7946 0958", "+44 (0)20 7946 0958"]) {
    assert.equal(searchedPhone(typed), "442079460958");
  }
  assert.equal(searchedPhone("(0)20 7946 0958"), "02079460958");
  assert.equal(searchedPhone("fax 5550123"), "5550123");
  assert.equal(searchedPhone("call me"), "call me");
});

test("a phone becomes E.164 or null, and E.164 is unchanged in any country", () => {
  fc.assert(
    fc.property(messyText, fc.constantFrom("US", "FR", "ZZ", "Elsewhere"), (text, country) => {
      const number = toE164(withoutControls(text), country);
      if (number === null) return;
      assert.match(number, /^\+1[2-9][0-9]{9}$/);
      assert.equal(toE164(number, country), number);
    }),
    runs,
  );
});
