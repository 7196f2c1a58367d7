import assert from "node:assert/strict";
import { test } from "node:test";
import { healthHandler } from "../../src/forms/health.ts";
import type { Exchange } from "../../src/http/exchange.ts";

async function answer(writable: boolean, isDraining: boolean) {
  const { status, body, headers } = await healthHandler(() => ({ writable }), () => isDraining)(
    {} as Exchange,
  );
  return [status, body, headers["Content-Type"]];
}

test("200 ok while the store takes writes; 503 when it does not, and while the process is stopping", async () => {
  const type = "text/plain; charset=utf-8";
  assert.deepEqual(await answer(true, false), [200, "ok", type]);
  assert.deepEqual(await answer(false, false), [503, "not accepting", type]);
  assert.deepEqual(await answer(true, true), [503, "not accepting", type]);
});
