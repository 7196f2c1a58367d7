/**
 * The backlogs that are drained: the same leads in our outbox and in the queues of the peers, each in a
 * database that the rounds copy.
 *
 * @module
 */

import { createWriteStream } from "node:fs";
import { join } from "node:path";
import { finished } from "node:stream/promises";
import { fileURLToPath } from "node:url";
import type postgres from "postgres";
import { payload } from "../../src/delivery/payload.ts";
import type { Claimed } from "../../src/store/delivery/outbox.ts";
import { run } from "./children.ts";
import type { DeliveryBenchOptions } from "./delivery_options.ts";
import type { DevCertificates } from "../dev_certificates.ts";
import { fill } from "./events.ts";
import type { Stage } from "./stage.ts";
import { buildFolder } from "./targets.ts";

/** What every row of the delivery benchmark works with. */
export interface DeliveryBench {
  readonly options: DeliveryBenchOptions;
  readonly stage: Stage;
  readonly certificates: DevCertificates;
  /** Leads as they are posted. */
  readonly bodies: readonly string[];
  /** Tells the person at the terminal how far it is. */
  readonly say: (line: string) => void;
}

/** The events of a backlog. */
export interface Leads {
  /** The database in whose outbox they wait. */
  readonly template: string;
  readonly ids: ReadonlySet<string>;
  /** `event_id body` a line, as we send them. */
  readonly file: string;
}

/** Peers that deliver from a queue in PostgreSQL. */
export type QueuePeer = "graphile_worker" | "pg_boss";

/** Makes the leads, and the database where they wait in our outbox. */
export async function makeLeads({ stage, options, bodies, say }: DeliveryBench): Promise<Leads> {
  const { backlog } = options;
  const database = await stage.createDatabase();
  await fill(database.sql, { events: backlog, pending: backlog, bodies, say });
  const file = join(buildFolder, "backlog.txt");
  const ids = await writeBodies(database.sql, file);
  await database.disconnect();
  return { template: database.name, ids, file };
}

async function writeBodies(sql: postgres.Sql, file: string): Promise<Set<string>> {
  const ids = new Set<string>();
  const out = createWriteStream(file);
  // As claim_outbox reads them.
  const rows = sql<Claimed[]>`
    select e.event_id, e.kind, t.slug as tenant, k.label as source, array_to_string(e.flags, ',') as flags,
      to_char(e.received_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as received_at,
      e.lead::text as lead, e.extra, 1 as number
    from event as e
    join tenant as t on t.id = e.tenant_id
    join api_key as k on k.id = e.key_id
    order by e.event_id`;
  for await (const chunk of rows.cursor(5_000)) {
    for (const row of chunk) ids.add(row.event_id);
    out.write(chunk.map((row) => `${row.event_id} ${payload(row)}\n`).join(""));
  }
  out.end();
  await finished(out);
  return ids;
}

/** Puts the same bodies into the queue of a peer, in a database of its own, and returns that database's name. */
export async function fillQueue(
  { stage, say }: DeliveryBench,
  leads: Leads,
  { peer, env = {} }: { peer: QueuePeer; env?: Record<string, string> },
): Promise<string> {
  const database = await stage.createDatabase();
  say(`filling the queue of ${peer}`);
  await run(process.execPath, [peerScript(peer), "prepare"], {
    timeoutMs: 300_000,
    env: { DATABASE_URL: database.url, BACKLOG_FILE: leads.file, ...env },
  });
  await database.quiet();
  await database.sql`vacuum analyze`;
  await database.disconnect();
  return database.name;
}

/** The program of a peer. */
export function peerScript(peer: QueuePeer): string {
  return fileURLToPath(new URL(`peers/${peer}.mjs`, import.meta.url));
}
