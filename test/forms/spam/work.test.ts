import assert from "node:assert/strict";
import test from "node:test";
import { foldText } from "../../../src/forms/spam/fold.ts";
import { stepsOf } from "../../../src/forms/spam/work.ts";

test("folding makes no more characters of one than the steps say", () => {
  for (let code = 0x80; code < 0x110000; code++) {
    const character = String.fromCodePoint(code);
    // Marks aside, which are gone at once; a character of Latin Extended that becomes two is no longer than its steps.
    const { length } = foldText(character);
    assert.ok(length <= stepsOf(character, Infinity) / 2, `U+${code.toString(16)}: ${length}`);
  }
});
