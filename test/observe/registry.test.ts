import assert from "node:assert/strict";
import { test } from "node:test";
import { Registry } from "../../src/observe/registry.ts";

test("quotes, backslashes and line breaks are escaped in labels and help", () => {
  const registry = new Registry();
  registry.counter({ name: "e_total", help: "a\\b\nc", labels: ["x"] }).add(1, { x: '"\\\n' });
  assert.deepEqual(registry.text().split("\n"), [
    "# HELP e_total a\\\\b\\nc",
    "# TYPE e_total counter",
    'e_total{x="\\"\\\\\\n"} 1',
    "",
  ]);
});

test("a family stops adding label sets at its maximum and keeps counting those it has", () => {
  const registry = new Registry();
  const counter = registry.counter({ name: "n_total", help: "N.", labels: ["x"] });
  const histogram = registry.histogram({ name: "n_seconds", help: "N.", labels: ["x"] }, [1]);
  for (let n = 0; n < 3_000; n += 1) {
    counter.add(1, { x: String(n) });
    histogram.observe(1, { x: String(n) });
  }
  counter.add(1, { x: "0" });
  assert.equal(counter.total(), 2_001);
  assert.equal(
    registry.text().split("\n").filter((line) => line.startsWith("n_seconds_count")).length,
    2_000,
  );
});
