/**
 * The backlogs that are drained: the same leads in our outbox and in the queues of the peers, each in a database that
 * the rounds copy.
 *
 * @module
 */

import { createWriteStream } from "node:fs";
import { join } from "node:path";
import { finished } from "node:stream/promises";
import { fileURLToPath } from "node:url";
import { payload } from "../../../src/delivery/payload.ts";
import type { Claimed } from "../../../src/store/delivery/outbox.ts";
import { fill } from "../load/events.ts";
import { buildFolder, node, run, say } from "../programs.ts";
import type { Database } from "../stage.ts";
import type { Bench } from "../suite.ts";
import type { Tree } from "../tree.ts";
import type { Leads, QueuePeer } from "./deliverers.ts";

const made = new Map<Tree, Promise<Leads>>();

/** The leads that wait in our outbox; made once for each tree. */
export function backlogOf(bench: Bench): Promise<Leads> {
  const known = made.get(bench.tree) ?? makeLeads(bench);
  made.set(bench.tree, known);
  return known;
}

async function makeLeads({ stage, tree, options, bodies }: Bench): Promise<Leads> {
  const { backlog } = options;
  const database = await stage.createDatabase(tree);
  await fill(database.sql, { events: backlog, pending: backlog, bodies });
  const file = join(buildFolder, `backlog_${database.name}.txt`);
  const ids = await writeBodies(database, file);
  await database.disconnect();
  return { template: database.name, ids, file };
}

async function writeBodies({ sql }: Database, file: string): Promise<Set<string>> {
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
export async function fillQueue({ stage, tree }: Bench, leads: Leads, peer: QueuePeer): Promise<string> {
  const database = await stage.createDatabase(tree);
  say(`filling the queue of ${peer}`);
  const script = fileURLToPath(new URL(`../peers/${peer}.mjs`, import.meta.url));
  await run(node, [script, "prepare"], {
    timeoutMs: 300_000,
    env: { DATABASE_URL: database.url, BACKLOG_FILE: leads.file },
  });
  await database.quiet();
  await database.sql`vacuum analyze`;
  await database.disconnect();
  return database.name;
}
