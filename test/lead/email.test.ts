import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { looksLikeEmail } from "../../src/lead/email.ts";
import { messyText, runs } from "../support/lead/properties.ts";

const part = fc.stringMatching(/^[^\s@.\u0085]{1,12}$/);

test("a local part, one @ and two or more labels look like an address", () => {
  fc.assert(
    fc.property(part, fc.array(part, { minLength: 2, maxLength: 5 }), (local, labels) => {
      assert.equal(looksLikeEmail(`${local}@${labels.join(".")}`), true);
    }),
    runs,
  );
});

test("one character too many or a part too few does not look like an address", () => {
  for (const good of ["a@b.c", "ada.lovelace@mail.example.com"]) {
    assert.equal(looksLikeEmail(good), true);
    for (let at = 0; at <= good.length; at++) {
      for (const intruder of ["@", " ", "\u00a0", "\u0085", "\u3000", "\n"]) {
        const bad = good.slice(0, at) + intruder + good.slice(at);
        assert.equal(looksLikeEmail(bad), false, JSON.stringify(bad));
      }
    }
  }
  for (const bad of ["", "@", "a@", "@b.c", "a@b", "a@.b", "a@b.", "a@b..c", "a@.", "a.b@c", "a b"]) {
    assert.equal(looksLikeEmail(bad), false, bad);
  }
});

test("whatever looks like an address has one @, no white space and a dotted domain", () => {
  fc.assert(
    fc.property(messyText, messyText, (left, right) => {
      const text = `${left}@${right}`;
      const labels = right.split(".");
      const expected = left !== "" && !`${left}${right}`.includes("@") && !/\p{White_Space}/u.test(text) &&
        labels.length > 1 && labels.every((label) => label !== "");
      assert.equal(looksLikeEmail(text), expected);
    }),
    runs,
  );
});
