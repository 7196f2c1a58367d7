import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import postgres from "postgres";
import { acceptedMs, eventIdAt, eventIdLength } from "../../src/contract/event_id.ts";
import { placeholders } from "../../src/documents/examples.ts";
import { createDatabase } from "../support/database.ts";
import { atEnd } from "../support/at_end.ts";

const database = await createDatabase();
const sql = postgres(database.url, { max: 1, onnotice: () => {} });
atEnd(async () => {
  await sql.end();
});

test("an event_id encodes the time of acceptance", () => {
  assert.equal(new Date(acceptedMs(placeholders.eventId)).toISOString(), placeholders.receivedAt);
  assert.equal(placeholders.eventId.length, eventIdLength);
});

test("event ids sort by time and start with it", () => {
  fc.assert(fc.property(fc.nat(2 ** 42), fc.nat(2 ** 42), (one, other) => {
    assert.equal(eventIdAt(one) < eventIdAt(other), one < other);
    assert.equal(acceptedMs(eventIdAt(one)), one);
  }));
});

test("the database's event ids have the time, place and length that the code expects", async () => {
  const at = "2026-11-20T22:51:59.806Z";
  const rows = await sql<{ id: string; start: string; isTime: boolean; place: number }[]>`
    select id, event_id_at(${at}::timestamptz) as start, event_id_time(id) = ${at}::timestamptz as "isTime",
      event_id_place(id) as place
    from (select new_event_id(event_id_at(${at}::timestamptz), n) as id from generate_series(1, 512) as n) as made`;
  for (const [index, { id, ...parts }] of rows.entries()) {
    assert.deepEqual(parts, { start: eventIdAt(Date.parse(at)), isTime: true, place: index + 1 });
    assert.match(id, new RegExp(`^${parts.start}[0-9a-f]+$`));
    assert.equal(id.length, eventIdLength);
    assert.equal(new Date(acceptedMs(id)).toISOString(), at);
  }
  assert.equal(new Set(rows.map(({ id }) => id.slice(-20))).size, rows.length);
});
