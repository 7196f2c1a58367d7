import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Lead } from "../../src/lead/lead.ts";
import { validate } from "../../src/lead/validate.ts";
import { areas } from "../support/lead/areas.ts";
import { damagedText, envelopeText } from "../support/lead/bodies.ts";
import { freshKey, TestEnv } from "../support/test_env.ts";

const testEnv = await TestEnv.open();
const server = await testEnv.start();
const key = await testEnv.issue();

/** The number of generated bodies: `FC_RUNS`, by default 300; use 100,000 or more for a long run. */
const bodies = Number(process.env.FC_RUNS ?? 300);
// Posted concurrently, so that they share commits and a faulty one has neighbours.
const bodiesAtOnce = 25;

const body = fc.oneof(
  { weight: 12, arbitrary: envelopeText.map((sent) => Buffer.from(sent)) },
  { weight: 4, arbitrary: damagedText.map((sent) => Buffer.from(sent)) },
  { weight: 1, arbitrary: fc.json({ stringUnit: "binary" }).map((sent) => Buffer.from(sent)) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 300 }).map((sent) => Buffer.from(sent)) },
);

interface Stored {
  readonly event_id: string;
  readonly lead: Lead;
  readonly extra: string | null;
  readonly raw: string;
  readonly flags: string[];
}

function decode(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** Returns the normalized lead as a body. */
function asBody({ lead, extra }: Stored): string {
  const { cost_cents: cents, ...members } = lead;
  const cost = cents === undefined ? "" : `,"cost":${(cents / 100).toFixed(2)}`;
  return `${JSON.stringify(members).slice(0, -1)}${cost}${extra === null ? "" : `,"extra":${extra}`}}`;
}

test("generated bodies never answer 5xx, get the validator's verdict, and read back as stored", async (t) => {
  const seen: Record<string, number> = {};
  const check = async (sent: Buffer[]) => {
    const answers = await Promise.all(sent.map((bytes) =>
      testEnv.intake({
        key: key.text,
        body: new Uint8Array(bytes),
        headers: { "Idempotency-Key": freshKey() },
      })
    ));
    const stored = new Map<string, Stored>();
    for (
      const row of await testEnv.sql<Stored[]>`
        select event_id, lead, extra, raw, flags from event
        where event_id = any (${answers.flatMap(({ json }) => json.event_id ?? [])})`
    ) stored.set(row.event_id, row);

    for (const [index, { status, json }] of answers.entries()) {
      seen[status] = (seen[status] ?? 0) + 1;
      const bytes = sent[index] as Buffer;
      const raw = decode(bytes);
      const verdict = raw === null ? { kind: "invalid_json" as const } : validate(raw, areas);
      if (verdict.kind !== "valid") {
        assert.equal(status, verdict.kind === "invalid_json" ? 400 : 422);
        assert.equal(json.error, verdict.kind);
        assert.deepEqual(json.fields, verdict.kind === "invalid_json" ? undefined : verdict.fields);
        continue;
      }
      assert.equal(status, 202);
      const { lead, extra, flags } = verdict;
      assert.deepEqual(stored.get(json.event_id), { event_id: json.event_id, lead, extra, raw, flags });
      assert.deepEqual(json.flags, verdict.flags);
    }
    await checkIdempotent([...stored.values()]);
  };
  /** A normalized lead posted as a body is the same lead: without an Idempotency-Key it is a duplicate. */
  const checkIdempotent = async (rows: readonly Stored[]) => {
    for (const row of rows.slice(0, 2)) {
      const first = await testEnv.intake({ key: key.text, body: row.raw });
      const again = await testEnv.intake({ key: key.text, body: asBody(row) });
      assert.equal(again.status, 200, `${row.raw}\n${asBody(row)}`);
      assert.equal(again.json.event_id, first.json.event_id);
    }
  };
  await fc.assert(
    fc.asyncProperty(fc.array(body, { minLength: bodiesAtOnce, maxLength: bodiesAtOnce }), check),
    { numRuns: Math.ceil(bodies / bodiesAtOnce), endOnFailure: false },
  );
  t.diagnostic(JSON.stringify(seen));
  assert.deepEqual(server.logs.filter(({ event }) => event === "entry_refused"), []);
});
