import assert from "node:assert/strict";
import test from "node:test";
import { utc } from "../../../src/http/time_zone.ts";
import { linePlot } from "../../../src/ops/console/history.ts";

const axis = { fromMs: Date.parse("2026-11-21T01:00:00Z"), stepMs: 60_000, steps: 4, zone: utc };
const words = { id: "p", title: "Title", description: "What is to be seen.", unit: String };

test("a line breaks where nothing is known, and a step alone is a dash", () => {
  const path = (values: (number | null)[]) =>
    / class="accepted" d="([^"]*)"/.exec(
      linePlot(axis, [{ className: "accepted", name: "accepted", values }], words).text,
    )?.[1];
  assert.equal(path([0, 5, 10, 10]), "M125 100L375 50L625 0L875 0");
  assert.equal(path([null, 10, null, 10]), "M250 0h250M750 0h250");
  assert.equal(path([10, 10, null, null]), "M125 0L375 0");
  assert.equal(path([null, null, null, null]), "");
});

test("a plot has a title and a description, and the times of its axis", () => {
  const { text } = linePlot(axis, [], words);
  assert.match(text, /role="img" aria-labelledby="p-t p-d"/);
  assert.match(text, /<title\s+id="p-t">Title<\/title><desc id="p-d">What is to be seen\.<\/desc>/);
  assert.match(text, />01:00<\/text>/);
  assert.match(text, />now<\/text>/);
  assert.doesNotMatch(text, /style=|<script/);
});
