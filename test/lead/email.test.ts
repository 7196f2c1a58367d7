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
