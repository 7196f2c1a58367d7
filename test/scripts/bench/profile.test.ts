import assert from "node:assert/strict";
import { test } from "node:test";
import { renderFlame } from "../../../scripts/bench/profile/flame.ts";
import { hottest, ofCpuProfile, ofPerf } from "../../../scripts/bench/profile/stacks.ts";

const node = (id: number, functionName: string, url: string, children: number[] = []) => ({
  id,
  callFrame: { functionName, url, lineNumber: 9 },
  children,
});
const profile = {
  nodes: [
    node(1, "(root)", "", [2, 3]),
    node(2, "(idle)", ""),
    node(3, "answer", "file:///srv/lead/src/intake/handle.ts", [4, 5]),
    node(4, "parse<T>", "file:///srv/lead/src/lead/json.ts"),
    node(5, "", "file:///srv/lead/node_modules/postgres/src/connection.js"),
  ],
  startTime: 1_000,
  samples: [3, 4, 2, 4, 5],
  timeDeltas: [500, 100, 4_000, 200, 100],
};

test("the stacks of Node's profile begin where they were asked to, and have no idle time", () => {
  assert.deepEqual(ofCpuProfile(profile, 1_550), [
    { frames: ["answer src/intake/handle.ts:10", "parse<T> src/lead/json.ts:10"], weight: 300 },
    { frames: ["answer src/intake/handle.ts:10", "(anonymous) postgres/src/connection.js:10"], weight: 100 },
  ]);
});

test("the stacks of perf begin with the name of their process", () => {
  const text = ` 7 
\t    55d0 _bt_compare
\t    55d3 PostgresMain
\t    55d4 main

 8 
\t    55d9 XLogWrite

`;
  assert.deepEqual(ofPerf(text, (pid) => pid === 8 ? "walwriter" : "backend"), [
    { frames: ["backend", "PostgresMain", "_bt_compare"], weight: 1 },
    { frames: ["walwriter", "XLogWrite"], weight: 1 },
  ]);
});

test("the table has the share of a function itself and of what it calls", () => {
  assert.deepEqual(hottest(ofCpuProfile(profile), "within", 2), [
    " 55.6 %  100.0 %  answer src/intake/handle.ts:10",
    " 33.3 %   33.3 %  parse<T> src/lead/json.ts:10",
  ]);
});

test("a flame graph has a box for each function where it was called, as wide as its share", () => {
  const svg = renderFlame("service & co", ofCpuProfile(profile, 1_550));
  const boxes = [...svg.matchAll(/<title>(.*?)<\/title><rect x="(.*?)" y="(.*?)" width="(.*?)"/g)]
    .map(([, title, x, y, width]) => [title, Number(x), Number(y), Number(width)]);
  assert.deepEqual(boxes, [
    ["all: 100.0 %", 0, -17, 1_400],
    ["answer src/intake/handle.ts:10: 100.0 %", 0, -34, 1_400],
    ["(anonymous) postgres/src/connection.js:10: 25.0 %", 0, -51, 350],
    ["parse&lt;T&gt; src/lead/json.ts:10: 75.0 %", 350, -51, 1_050],
  ]);
  assert.match(svg, />service &amp; co</);
});
