import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { getCountries, getCountryCallingCode } from "libphonenumber-js/min";
import { toE164 } from "../../src/lead/phone.ts";
import { asSent } from "../../src/lead/text.ts";
import { messyText, runs } from "../support/lead/properties.ts";

const national = fc.stringMatching(/^[2-9][0-9]{9}$/);
/** Formatting as people and address books write it. */
const filler = fc.string({
  unit: fc.constantFrom(..." .-()/\u00a0\u2009‐–—−．（）／\u200e\u202a\u202c"),
  maxLength: 3,
});
/** The zero of each script's digits. */
const zeros = ["0", "٠", "۰", "߀", "०", "০", "๐", "០", "᠐", "꘠", "０", "𐒠", "𝟎", "𝟘", "𝟢", "𝟬", "𝟶", "🯰"];

test("what is 10, 1 and 10, or +1 and 10 digits in any formatting and script becomes E.164", () => {
  const written = national.chain((digits) =>
    fc.tuple(
      fc.constantFrom("", "tel:", "TEL:"),
      fc.constantFrom("", "1", "+1", "＋1"),
      fc.array(fc.tuple(fc.constantFrom(...zeros), filler), { minLength: 12, maxLength: 12 }),
    ).map(([scheme, prefix, looks]) => {
      const chars = [...`${prefix}${digits}`].map((char, at) => {
        const [zero, fill] = looks[at]!;
        return (/\d/.test(char) ? String.fromCodePoint(zero.codePointAt(0)! + Number(char)) : char) + fill;
      });
      return { digits, text: scheme + chars.join("") };
    })
  );
  fc.assert(
    fc.property(written, ({ digits, text }) => {
      assert.equal(toE164(text, "US"), `+1${digits}`);
    }),
    runs,
  );
});

test("every decimal digit of Unicode has its value", () => {
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

test("one character that is neither digit nor formatting leaves the number as sent", () => {
  const others = fc.constantFrom(..."abexXtz#*,;:_[]{}<>|~'\"\\@&=%$^²①Ⅷ五😀", "ext", "\ufffd");
  fc.assert(
    fc.property(national, fc.nat(10), others, (digits, at, other) => {
      assert.equal(toE164(digits.slice(0, at) + other + digits.slice(at), "US"), null);
    }),
    runs,
  );
});

test("another number of digits leaves the number as sent", () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[0-9]{0,30}$/), fc.boolean(), (digits, plus) => {
      fc.pre(plus ? digits.length !== 11 : digits.length !== 10 && digits.length !== 11);
      assert.equal(toE164(plus ? `+${digits}` : digits, "US"), null);
    }),
    runs,
  );
});

test("ten bare digits are read for exactly the countries of calling code 1", () => {
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

test("the answer is E.164 or null, and E.164 stays as it is whatever the country", () => {
  fc.assert(
    fc.property(messyText, fc.constantFrom("US", "FR", "ZZ", "Elsewhere"), (text, country) => {
      const number = toE164(asSent(text), country);
      if (number === null) return;
      assert.match(number, /^\+1[2-9][0-9]{9}$/);
      assert.equal(toE164(number, country), number);
    }),
    runs,
  );
});

test("64 KiB of formatting or digits are no number", () => {
  assert.equal(toE164("-".repeat(65_000), "US"), null);
  assert.equal(toE164("𝟗".repeat(16_000), "US"), null);
  assert.equal(toE164("tel:".repeat(16_000), "US"), null);
});
