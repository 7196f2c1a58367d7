import assert from "node:assert/strict";
import test from "node:test";
import { brief } from "../../src/documents/brief.ts";
import { partnerRows } from "../support/contract/specification.ts";

const text = brief("https://intake.example").replaceAll(/\s+/g, " ");

for (const [heading, rows] of Object.entries(partnerRows)) {
  for (const [row, ...words] of rows) {
    test(`the brief has the specification's row: ${heading}, ${row}`, () => {
      for (const word of words) assert.ok(text.includes(word), word);
    });
  }
}
