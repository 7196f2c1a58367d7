import assert from "node:assert/strict";
import test from "node:test";
import { dollars, grouped } from "../../src/contract/guidance.ts";

test("numbers are grouped by thousands, and cents are dollars with two places", () => {
  assert.deepEqual([0, 999, 1000, 16_000, 1_234_567].map(grouped), [
    "0",
    "999",
    "1,000",
    "16,000",
    "1,234,567",
  ]);
  assert.deepEqual([1, 100, 99_999].map(dollars), ["0.01", "1.00", "999.99"]);
});
