import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { likelyName } from "../../src/contract/likely_name.ts";

const names = ["first_name", "last_name", "phone", "INTAKE_LISTEN", "INTAKE_URL", "America/New_York"];

test("a misspelled name is recognized in any case and with any word separator", () => {
  const cases: [string, string | null][] = [
    ["firstName", "first_name"],
    ["lastname", "last_name"],
    ["phne", "phone"],
    ["INTAKE_LISTN", "INTAKE_LISTEN"],
    ["INTAKE-URLS", "INTAKE_URL"],
    ["america/new york", "America/New_York"],
    ["shoe", null],
    ["x", null],
    ["", null],
    ["INTAKE_SOMETHING_ELSE", null],
    ["first_name".repeat(11), null],
  ];
  for (const [text, likely] of cases) assert.equal(likelyName(text, names), likely, text);
});

test("a correct name is its own likely name, and any other result is one of the names", () => {
  for (const name of names) assert.equal(likelyName(name, names), name);
  fc.assert(fc.property(fc.string(), (text) => {
    const likely = likelyName(text, names);
    return likely === null || names.includes(likely);
  }));
});
