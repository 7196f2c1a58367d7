import assert from "node:assert/strict";
import { test } from "node:test";
import type { Exchange } from "../../src/http/exchange.ts";
import { vocabularyHandler } from "../../src/intake/router.ts";

const minute = 60_000;
const areas = [{ area: "roof", status: "confirmed" }, { area: "moat", status: "proposed" }] as const;
const reference = { areas, areaIndex: new Map(), ipLimits: [], readAtMs: 1_000 };
const exchange = { requestId: "r1", header: (_name: string) => undefined } as Exchange;

async function answerAt(nowMs: number) {
  const { status, headers, body } = await vocabularyHandler(() => reference, () => nowMs)(exchange);
  return { status, headers, json: JSON.parse(String(body)) };
}

test("the last snapshot is served for five minutes and lists both statuses", async () => {
  for (const nowMs of [1_000, 1_000 + 5 * minute]) {
    const { status, headers, json } = await answerAt(nowMs);
    assert.equal(status, 200);
    assert.deepEqual(json.project_area, areas);
    assert.equal(headers["Cache-Control"], "public, max-age=300");
  }
});

test("an older snapshot answers 503 not_accepting, uncacheable", async () => {
  const { status, headers, json } = await answerAt(1_001 + 5 * minute);
  assert.equal(status, 503);
  assert.deepEqual(json, { error: "not_accepting", request_id: "r1" });
  assert.equal(headers["Cache-Control"], "no-store");
  assert.equal(headers["Access-Control-Allow-Origin"], "*");
});
