import assert from "node:assert/strict";
import { test } from "node:test";
import vectors from "../vectors/lead.json" with { type: "json" };
import { freshKey, TestEnv } from "../support/test_env.ts";

const testEnv = await TestEnv.open();
await testEnv.start();
const key = await testEnv.issue();
/** The cases with the validator's result. */
const all = vectors.map(({ empty: _, ...vector }: Vector) => vector);
type Vector = Partial<Record<"empty" | "lead" | "extra" | "flags" | "fields" | "detail", unknown>> & {
  readonly name: string;
  readonly body: string;
  readonly kind: string;
};

/** Returns the vector with the server's response and stored lead. */
async function throughServer({ name, body }: Vector): Promise<Vector> {
  // As a browser would send it: a lone surrogate cannot be sent.
  const bytes = new TextEncoder().encode(body);
  const headers = { "Idempotency-Key": freshKey() };
  const { status, json } = await testEnv.intake({ key: key.text, body: bytes, headers });
  const said = json.detail === undefined ? {} : { detail: json.detail };
  if (status === 400) return { name, body, kind: json.error, ...said };
  if (status === 422) return { name, body, kind: json.error, fields: json.fields, ...said };
  assert.equal(status, 202, `${name}: ${JSON.stringify(json)}`);
  const { lead, extra, flags, raw } = await testEnv.event(json.event_id);
  assert.deepEqual(json.flags, flags, name);
  assert.equal(raw, new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes), name);
  return { name, body, kind: "valid", lead, extra, flags };
}

test("every vector gets its verdict, flags, lead and extra through the server", async (t) => {
  const found: Vector[] = [];
  for (let start = 0; start < all.length; start += 50) {
    found.push(...await Promise.all(all.slice(start, start + 50).map(throughServer)));
  }
  for (const [index, vector] of all.entries()) assert.deepEqual(found[index], vector, vector.name);
  t.diagnostic(`${all.length} vectors`);
});

test("a refused vector stores nothing", async () => {
  const { events, outbox } = await testEnv.stored();
  assert.equal(events, all.filter(({ kind }) => kind === "valid").length);
  assert.equal(outbox, events);
});
