import assert from "node:assert/strict";
import { test } from "node:test";
import { Registry } from "../../src/observe/registry.ts";

test("a counter shows its sum by labels, and 0 from the start where it has none", () => {
  const registry = new Registry();
  const plain = registry.counter({ name: "a_total", help: "A." });
  const labelled = registry.counter({ name: "b_total", help: "B.", labels: ["x", "y"] });
  assert.equal(
    registry.text(),
    "# HELP a_total A.\n# TYPE a_total counter\na_total 0\n# HELP b_total B.\n# TYPE b_total counter\n",
  );
  plain.add(2);
  labelled.add(1, { x: "1", y: "2" });
  labelled.add(3, { y: "2", x: "1" });
  labelled.add(5, { x: "2", y: "2" });
  const lines = registry.text().split("\n");
  assert.ok(lines.includes("a_total 2"));
  assert.ok(lines.includes('b_total{x="1",y="2"} 4'));
  assert.equal(labelled.total(), 9);
  assert.equal(labelled.total({ x: "1" }), 4);
  assert.equal(labelled.total({ y: "2" }), 9);
  assert.equal(labelled.total({ y: "1" }), 0);
  assert.deepEqual(registry.json(), { a_total: 2, b_total: { 'x="1",y="2"': 4, 'x="2",y="2"': 5 } });
});

test("a histogram counts what is at most as large as a bucket, and what is larger in +Inf alone", () => {
  const registry = new Registry();
  const histogram = registry.histogram({ name: "d_seconds", help: "D.", labels: ["r"] }, [0.1, 1]);
  for (const value of [0.05, 0.1, 0.5, 1, 2]) histogram.observe(value, { r: "x" });
  assert.deepEqual(registry.text().split("\n").slice(2, -1), [
    'd_seconds_bucket{r="x",le="0.1"} 2',
    'd_seconds_bucket{r="x",le="1"} 4',
    'd_seconds_bucket{r="x",le="+Inf"} 5',
    'd_seconds_sum{r="x"} 3.65',
    'd_seconds_count{r="x"} 5',
  ]);
  assert.deepEqual(registry.json(), { d_seconds: { 'r="x"': { count: 5, sum: 3.65 } } });
});

test("a gauge is read when it is asked for; null leaves it out", () => {
  const registry = new Registry();
  let value: number | null = 1;
  registry.gauge({ name: "g", help: "G." }, () => value);
  registry.gauge({ name: "s", help: "S.", labels: ["state"] }, () => new Map([["open", 1], ["closed", 0]]));
  registry.info({ name: "i", help: "I." }, { version: "1.0" });
  registry.readCounter({ name: "c_total", help: "C." }, () => 7);
  value = 2.5;
  const lines = registry.text().split("\n").filter((line) => !line.startsWith("#"));
  assert.deepEqual(lines, [
    "g 2.5",
    's{state="open"} 1',
    's{state="closed"} 0',
    'i{version="1.0"} 1',
    "c_total 7",
    "",
  ]);
  value = null;
  assert.ok(!registry.text().includes("\ng "));
  assert.deepEqual(registry.json(), {
    g: null,
    s: { open: 1, closed: 0 },
    i: { version: "1.0" },
    c_total: 7,
  });
});

test("quotes, backslashes and line breaks in a label are escaped, and in the help", () => {
  const registry = new Registry();
  registry.counter({ name: "e_total", help: "a\\b\nc", labels: ["x"] }).add(1, { x: '"\\\n' });
  assert.deepEqual(registry.text().split("\n"), [
    "# HELP e_total a\\\\b\\nc",
    "# TYPE e_total counter",
    'e_total{x="\\"\\\\\\n"} 1',
    "",
  ]);
});

test("a family does not grow beyond its bound, whatever the labels; what it has goes on counting", () => {
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
