/** Fills a database with events without posting them. */

import { hash } from "node:crypto";
import type postgres from "postgres";
import { canonicalText } from "../../src/lead/fingerprint.ts";
import { validate } from "../../src/lead/validate.ts";
import { formatFigure } from "./measure.ts";
import { logProgress } from "./programs.ts";

interface FillOptions {
  readonly events: number;
  /** The number of events from earlier calls. */
  readonly filled?: number;
  /** The number of events after the last call. */
  readonly total?: number;
  /** The number of events with an outbox row. */
  readonly pending: number;
  /** The leads to copy, as posted. */
  readonly bodies: readonly string[];
}

const chunkEvents = 250_000;

/**
 * Fills a database as if its intake keys had posted in turn, one event every 5 s, with the newest `pending` events in the
 * outbox; then vacuums and analyzes the database.
 */
export async function fill(
  sql: postgres.Sql,
  { events, filled = 0, total = events, pending, bodies }: FillOptions,
): Promise<void> {
  await createSamples(sql, bodies);
  // Indexes are built once, at the end. Triggers are off, because the data satisfies their constraints by construction.
  const indexes = await sql<{ name: string; text: string }[]>`
    select indexname as name, indexdef as text from pg_indexes
    where tablename = 'event' and indexname <> 'event_pkey'`;
  for (const { name } of indexes) await sql`drop index ${sql(name)}`;
  await sql`set session_replication_role = replica`;
  await sql`set synchronous_commit = off`;
  await sql`set maintenance_work_mem = '1GB'`;
  for (let from = filled; from < events; from += chunkEvents) {
    const to = Math.min(from + chunkEvents, events);
    // Ids are generated as in accept.sql.
    await sql`
      insert into event (
        event_id, kind, tenant_id, key_id, received_at, dedupe_space, dedupe_digest, content_digest,
        idempotency_key, flags, lead, extra, raw
      )
      select
        new_event_id(event_id_at(at), 1), 'lead', k.tenant_id, k.id, at, 'k', md5('digest' || n)::uuid, s.content,
        'provider:lead:filled-1-' || n, s.flags, s.lead::json, s.extra, s.raw
      from generate_series(${from}::int, ${to - 1}::int) as n
      join bench_sample as s on s.number = n % ${bodies.length}::int
      join bench_key as k on k.number = n % (select max(count) from bench_key)
      cross join lateral (select now() - make_interval(secs => (${total}::int - n) * 5.0) as at) as t
      order by n`;
    // Without a checkpoint, all of the WAL would remain.
    await sql`checkpoint`;
    logProgress(`filling: ${formatFigure(to)} events`);
  }
  for (const { text } of indexes) await sql.unsafe(text);
  // Equivalent to fill_search_entry.
  await sql`
    insert into search_entry (
      ref, phone, email, last_name, full_name, external_id, idempotency_key, request_id
    )
    select e.event_id, search_phone(l.phone), l.email, lower(l.last_name collate "C"),
      lower(l.first_name || ' ' || l.last_name collate "C"), l.external_id, e.idempotency_key, e.request_id
    from event as e
    cross join lateral json_to_record(e.lead)
      as l (phone text, email text, first_name text, last_name text, external_id text)
    where not exists (select from search_entry as c where c.ref = e.event_id)
    order by e.event_id`;
  // Inserting rows before newer ones has split the index's pages.
  await sql`reindex index event_pkey`;
  if (pending > 0) {
    await sql`
      insert into outbox (event_id, tenant_id, due_at)
      select event_id, tenant_id, received_at from event order by event_id desc limit ${pending}`;
    await sql`insert into outbox_tally (state, delta) values ('pending', ${pending})`;
  }
  await sql`set session_replication_role = origin`;
  await sql`set synchronous_commit = on`;
  await sql`drop table bench_sample, bench_key`;
  await sql`vacuum analyze`;
}

/** Returns a lead as the table `event` stores it. */
export function toStored(raw: string) {
  const verdict = validate(raw, new Map());
  if (verdict.kind !== "valid") {
    throw new Error(`A sample lead is not valid: ${raw}`);
  }
  const { lead, extra } = verdict;
  const flags = verdict.flags.filter((flag) => flag !== "project_area_unknown");
  const content = hash("sha256", canonicalText(lead, extra), "hex").slice(0, 32);
  return { content, flags: `{${flags.join(",")}}`, lead: JSON.stringify(lead), raw, extra };
}

/** Creates tables with the leads to copy and with the intake keys. */
async function createSamples(sql: postgres.Sql, bodies: readonly string[]): Promise<void> {
  const samples = bodies.map((raw, number) => ({ number, ...toStored(raw) }));
  await sql`
    create unlogged table bench_sample
      (number int primary key, raw text, extra text, flags text[], lead text, content uuid)`;
  await sql`
    insert into bench_sample
    select * from jsonb_populate_recordset(null::bench_sample, ${sql.json(samples)})`;
  await sql`
    create unlogged table bench_key as
    select (row_number() over (order by id))::int - 1 as number, count(*) over ()::int as count, id, tenant_id
    from api_key where surface = 'intake'`;
  await sql`alter table bench_key add primary key (number)`;
  await sql`analyze bench_sample, bench_key`;
}
