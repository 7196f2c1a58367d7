import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { makeKey } from "../../src/contract/api_key.ts";
import { lineAndColumn, objectFault, shownName } from "../../src/lead/body_fault.ts";
import { validate } from "../../src/lead/validate.ts";
import { fieldsFault, readFields } from "../../src/forms/fields.ts";
import { areas } from "../support/lead/areas.ts";
import { runs } from "../support/lead/properties.ts";

const detailOf = (text: string) => objectFault(text, "lead").detail;

test("the place of a fault is its line and its character in it, from 1", () => {
  assert.deepEqual(lineAndColumn("abc", 0), { line: 1, column: 1 });
  assert.deepEqual(lineAndColumn("a\nbc", 3), { line: 2, column: 2 });
  assert.deepEqual(lineAndColumn("a\r\nb\rc", 5), { line: 3, column: 1 });
  assert.deepEqual(lineAndColumn("🏠é\u0301x", 4), { line: 1, column: 4 });
  assert.equal(detailOf('{\n  "phone": "1",\n}'), "line 2, column 15: a trailing comma; take it out");
});

test("a name is shown to 64 characters, with nothing in it that is not seen, and no key", () => {
  assert.equal(shownName("first-name.1"), "first-name.1");
  assert.equal(shownName("Vor name"), '"Vor name"');
  assert.equal(shownName(""), '""');
  assert.equal(shownName("a\n\u202eb\ud800"), '"a\\u{a}\\u{202e}b\ufffd"');
  assert.equal(shownName("🏠".repeat(64)), `"${"🏠".repeat(64)}"`);
  assert.equal(shownName("x".repeat(65)), `"${"x".repeat(64)}…"`);
  const key = makeKey({ surface: "intake", sandbox: false }, (bytes) => void bytes.fill(7));
  assert.equal(shownName(`my ${key}`), "a field");
});

/** A letter that stands in no sentence of ours. */
const canary = "ж";
const secret = fc.string({
  unit: fc.constantFrom(canary, canary, '"', "\\", "\n", " ", ":", ","),
  minLength: 1,
  maxLength: 20,
})
  .map((text) => `${canary}${text}`);

test("detail never has a value, however the body is broken, and never more of it than 64 characters of a name", () => {
  const value = fc.oneof(
    secret.map((text) => JSON.stringify(text)),
    secret.map((text) => `"${text}"`),
    secret,
    secret.map((text) => `[${JSON.stringify(text)}]`),
    secret.map((text) => `{${JSON.stringify(text)}:${JSON.stringify(text)}}`),
  );
  const name = fc.constantFrom(
    "first_name",
    "last_name",
    "phone",
    "cost",
    "extra",
    "email",
    "a",
    "firstName",
    "x".repeat(300),
  );
  const member = fc.tuple(name, value, fc.constantFrom(",", "", ";", ",,")).map(([name, value, then]) =>
    `"${name}":${value}${then}`
  );
  const body = fc.tuple(
    fc.constantFrom("{", "[", "", "{'", "\ufeff{"),
    fc.array(member, { maxLength: 6 }),
    fc.constantFrom("}", "", "]", "}{"),
  )
    .map(([first, members, last]) => `${first}${members.join("")}${last}`);
  fc.assert(
    fc.property(body, (text) => {
      const verdict = validate(text, areas);
      const details = [
        verdict.kind === "valid" ? "" : verdict.detail ?? "",
        readFields(text) === null ? fieldsFault(text).detail : "",
      ];
      for (const detail of details) {
        assert.ok(!detail.includes(canary), detail);
        assert.doesNotMatch(detail, /x{65}/);
      }
      if (verdict.kind !== "valid") assert.doesNotMatch(verdict.reason ?? "", /x{3}|firstName/);
    }),
    { numRuns: 5 * runs.numRuns },
  );
});
