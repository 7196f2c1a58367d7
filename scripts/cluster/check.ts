/**
 * What was stored and delivered, held against what the clients were told: read from the tables, past the service.
 *
 * @module
 */

import { setTimeout as delay } from "node:timers/promises";
import type { History } from "../../test/support/faults/history.ts";
import { again, type Cluster, withSql } from "./cluster.ts";
import type { Database, Service } from "./service.ts";
import type { Sink } from "./sink.ts";

/** What the rounds are run on. */
export interface Ground {
  readonly cluster: Cluster;
  readonly database: Database;
  readonly services: readonly Service[];
  readonly sink: Sink;
}

/** What is wrong with one round, whose Idempotency-Keys begin with the prefix. */
export async function check(
  { cluster, database, sink }: Ground,
  history: History,
  prefix: string,
): Promise<string[]> {
  const events = await read({ cluster, database }, `${prefix}-`);
  const violations = history.findings({ events });
  // Every one is delivered, with what was posted; a claim of a process that lost its store is over after its lease.
  const untilMs = performance.now() + 60_000;
  const missing = () => events.filter(({ eventId }) => !sink.came.has(eventId));
  while (missing().length > 0 && performance.now() < untilMs) await delay(100);
  for (const { eventId } of missing()) violations.push(`${eventId}: not delivered`);
  for (const { eventId, idempotencyKey } of events) {
    const came = sink.came.get(eventId);
    if (came !== undefined && came.externalId !== idempotencyKey) {
      violations.push(`${eventId}: delivered as another`);
    }
  }
  for (const { status, text } of history.refusals()) {
    violations.push(`answered ${status}: ${text.slice(0, 200)}`);
  }
  return violations;
}

function read({ cluster, database }: Pick<Ground, "cluster" | "database">, prefix: string) {
  return again(async () => {
    const url = database.url("lead_owner", `127.0.0.1:${(await cluster.primary()).seat.port}`);
    return await withSql(url, async (sql) => [
      ...await sql<
        { eventId: string; idempotencyKey: string; raw: string; campaign: null; costCents: number }[]
      >`
        select event_id as "eventId", idempotency_key as "idempotencyKey", raw, null as campaign, 0 as "costCents"
        from event where starts_with(idempotency_key, ${prefix})`,
    ]);
  });
}

/** What was promised in any round and is not there, or as another event. */
export async function missing(
  { cluster, database }: Ground,
  promised: ReadonlyMap<string, string>,
): Promise<string[]> {
  const stored = new Map(
    (await read({ cluster, database }, "round-")).map((
      { idempotencyKey, eventId },
    ) => [idempotencyKey, eventId]),
  );
  return [...promised].flatMap(([key, eventId]) =>
    stored.get(key) === eventId ? [] : [`${key}: answered 202 with ${eventId}, in the end ${stored.get(key)}`]
  );
}
