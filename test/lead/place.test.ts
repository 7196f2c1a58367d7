import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { foldArea, normalizeCountry, normalizeState, normalizeZip } from "../../src/lead/place.ts";
import { normalizeLine } from "../../src/lead/text.ts";
import { areas } from "../support/lead/areas.ts";
import { messyText, runs } from "../support/lead/properties.ts";

/** Generates `text` in mixed case. */
const anyCase = (text: string): fc.Arbitrary<string> =>
  fc.mixedCase(fc.constant(text), { toggleCase: (char) => char.toUpperCase() });

test("a country of two characters is upper-cased and keeps two characters", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", minLength: 2, maxLength: 2 }), (text) => {
      const country = normalizeCountry(text);
      assert.equal([...country ?? ""].length, 2);
      assert.equal(normalizeCountry(country!), country);
    }),
    runs,
  );
  assert.equal(normalizeCountry("gb"), "GB");
  assert.equal(normalizeCountry("é1"), "É1");
  assert.equal(normalizeCountry("ß1"), "ß1");
  assert.equal(normalizeCountry("😀b"), "😀B");
});

test("a state of exactly two ASCII letters is upper-cased, any other is unchanged", () => {
  assert.equal(normalizeState("on"), "ON");
  fc.assert(
    fc.property(fc.oneof(messyText, fc.stringMatching(/^[a-zA-Z]{0,3}$/)), (text) => {
      const expected = /^[a-zA-Z][a-zA-Z]$/.test(text) ? text.toUpperCase() : text;
      assert.equal(normalizeState(text), expected);
    }),
    runs,
  );
  for (const text of ["éa", "ａｂ", "a\n", "ſs"]) assert.equal(normalizeState(text), text);
});

test("nine bare digits become ZIP+4 only in the US", () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[0-9]{9}$/), (digits) => {
      const [five, four] = [digits.slice(0, 5), digits.slice(5)];
      assert.equal(normalizeZip(digits, "US"), `${five}-${four}`);
      assert.equal(normalizeZip(digits, "CA"), digits);
      assert.equal(normalizeZip(`${five}-${four}`, "US"), `${five}-${four}`);
    }),
    runs,
  );
  for (const text of ["12345", "12345678", "1234567890", "123 456 789", "١٢٣٤٥٦٧٨٩", "123456789\n"]) {
    assert.equal(normalizeZip(text, "US"), text);
  }
});

test("a Canadian postal code becomes ANA NAN in any country", () => {
  const code = fc.stringMatching(/^[a-zA-Z][0-9][a-zA-Z][ -]?[0-9][a-zA-Z][0-9]$/);
  fc.assert(
    fc.property(code, fc.constantFrom("CA", "US", "FR", "Elsewhere"), (text, country) => {
      const zip = normalizeZip(text, country);
      assert.match(zip, /^[A-Z][0-9][A-Z] [0-9][A-Z][0-9]$/);
      assert.equal(zip.replace(" ", ""), text.replace(/[ -]/, "").toUpperCase());
      assert.equal(normalizeZip(zip, country), zip);
    }),
    runs,
  );
});

test("a project_area folds to the same term in any case and with any spacing", () => {
  for (const [folded, area] of areas) {
    fc.assert(
      fc.property(anyCase(area), fc.constantFrom("", " ", "\t", "\u3000"), (text, space) => {
        assert.equal(foldArea(space + text.replaceAll(" ", `${space} `) + space), folded);
      }),
      { numRuns: 5 },
    );
  }
  assert.equal(areas.size, 37);
});

test("folding is idempotent, also after normalization", () => {
  fc.assert(
    fc.property(messyText, (text) => {
      const folded = foldArea(text);
      assert.equal(foldArea(folded), folded);
      assert.equal(foldArea(normalizeLine(text)), folded);
    }),
    runs,
  );
});
