import assert from "node:assert/strict";
import { test } from "node:test";
import vectors from "../vectors/lead.json" with { type: "json" };
import { freshKey, World } from "../support/world.ts";

/** A case of `test/vectors/lead.json`, as the validator answers it. */
interface Vector {
  readonly name: string;
  readonly body: string;
  readonly kind: string;
  readonly lead?: Record<string, unknown>;
  readonly extra?: string | null;
  readonly flags?: string[];
  readonly fields?: Record<string, string>;
  readonly detail?: string;
}

const world = await World.open();
await world.start();
const key = await world.issue();
const all = vectors as Vector[];

/** The vector as the server answers and stores it. */
async function throughServer({ name, body }: Vector): Promise<Vector> {
  // As a browser would send it: half a surrogate pair cannot travel.
  const bytes = new TextEncoder().encode(body);
  const headers = { "Idempotency-Key": freshKey() };
  const { status, json } = await world.intake({ key: key.text, body: bytes, headers });
  const said = json.detail === undefined ? {} : { detail: json.detail };
  if (status === 400) return { name, body, kind: json.error, ...said };
  if (status === 422) return { name, body, kind: json.error, fields: json.fields, ...said };
  assert.equal(status, 202, `${name}: ${JSON.stringify(json)}`);
  const { lead, extra, flags, raw } = await world.event(json.event_id);
  assert.deepEqual(json.flags, flags, name);
  assert.equal(raw, new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes), name);
  return { name, body, kind: "valid", lead, extra, flags };
}

test("every vector has its verdict, flags, lead and extra through the server", async (t) => {
  const expected = all.map((vector) => {
    const { empty: _, ...rest } = vector as Vector & { empty?: boolean };
    return rest;
  });
  const found: Vector[] = [];
  for (let start = 0; start < all.length; start += 50) {
    found.push(...await Promise.all(all.slice(start, start + 50).map(throughServer)));
  }
  for (const [index, vector] of expected.entries()) assert.deepEqual(found[index], vector, vector.name);
  t.diagnostic(`${all.length} vectors`);
});

test("a refused vector has left nothing", async () => {
  const { events, outbox } = await world.stored();
  assert.equal(events, all.filter(({ kind }) => kind === "valid").length);
  assert.equal(outbox, events);
});
