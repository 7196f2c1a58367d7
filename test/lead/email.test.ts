import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { looksLikeEmail } from "../../src/lead/email.ts";
import { messyText, runs } from "../support/lead/properties.ts";

const label = fc.stringMatching(/^[^\s@.\u0085]{1,12}$/);
const domain = fc.oneof(
  messyText,
  fc.array(label, { minLength: 1, maxLength: 5 }).map((labels) => labels.join(".")),
);

test("an address has one @, no white space and a dotted domain", () => {
  fc.assert(
    fc.property(fc.oneof(messyText, label), domain, (left, right) => {
      const text = `${left}@${right}`;
      const labels = right.split(".");
      const expected = left !== "" && !`${left}${right}`.includes("@") && !/\p{White_Space}/u.test(text) &&
        labels.length > 1 && labels.every((label) => label !== "");
      assert.equal(looksLikeEmail(text), expected);
    }),
    runs,
  );
});
