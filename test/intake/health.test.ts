import assert from "node:assert/strict";
import { test } from "node:test";
import type { Exchange } from "../../src/http/exchange.ts";
import { healthHandler } from "../../src/intake/router.ts";

async function answer(writable: boolean, isDraining: boolean, dead = 0) {
  const handler = healthHandler(() => ({ writable, pending: 7, dead }), () => isDraining);
  const { status, body } = await handler({} as Exchange);
  return [status, JSON.parse(String(body))];
}

test("200 while the store takes writes, however many are dead", async () => {
  assert.deepEqual(await answer(true, false, 3), [200, {
    ...{ ok: true, pending: 7, dead: 3, store_writable: true },
  }]);
});

test("503 when it does not, and while the process is stopping", async () => {
  assert.deepEqual(await answer(false, false), [503, {
    ...{ ok: false, pending: 7, dead: 0, store_writable: false },
  }]);
  assert.deepEqual(await answer(true, true), [503, {
    ...{ ok: false, pending: 7, dead: 0, store_writable: true },
  }]);
});
