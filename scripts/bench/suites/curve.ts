/**
 * What a lead costs as the store grows: one database is filled step by step, and at each step leads are posted with few
 * keys and with many.
 *
 * @module
 */

import { statfsSync } from "node:fs";
import { fill } from "../load/events.ts";
import { onStore } from "../load/posting.ts";
import { searchTimes } from "../load/searching.ts";
import { bare, inFlight } from "../load/takers.ts";
import { type Load, writeLoad } from "../load/wrk.ts";
import { startService } from "../service.ts";
import { addKeys } from "../load/keys.ts";
import type { Database } from "../stage.ts";
import type { Bench, Group, Measures, Open, Suite } from "../suite.ts";
import type { Tree } from "../tree.ts";
import {
  diskMeasure,
  drawCurve,
  pointName,
  searchMeasure,
  slowestMeasure,
  wholeDatabase,
} from "./curve_points.ts";

/** An event with its entries in all indexes, and what the WAL takes besides: enough, not exact. */
const [bytesAnEvent, bytesOfWal] = [2_000, 8e9];
/** What takes less for an event is counted in the sum alone. */
const relationBytesMin = 4;

/** The database that all points share, and that grows from one size to the next. */
interface Store {
  readonly database: Database;
  readonly loads: ReadonlyMap<number, Load>;
  /** What the disk has before the first event. */
  readonly empty: ReadonlyMap<string, number>;
  filled: number;
  posted: number;
  /** What is told of the disk by its name, chosen once for each size. */
  relations: readonly string[] | null;
}

async function openStore(bench: Bench): Promise<Store> {
  const { options, stage, bodies } = bench;
  const largest = options.sizes.at(-1) ?? 0;
  const neededBytes = largest * bytesAnEvent + bytesOfWal;
  const { bavail, bsize } = statfsSync(stage.dataFolder);
  if (bavail * bsize < neededBytes) {
    const gigabytes = (bytes: number) => `${Math.round(bytes / 1e9)} GB`;
    throw new Error(
      `${largest} events need ${gigabytes(neededBytes)}, and ${stage.dataFolder} has ${
        gigabytes(bavail * bsize)
      }`,
    );
  }
  const database = await stage.createDatabase(bench.tree);
  const keys = await addKeys(database.sql, options.keys.at(-1) ?? 1);
  await database.sql`vacuum analyze`;
  const loads = new Map(options.keys.map((count) => [
    count,
    writeLoad(bodies, keys.slice(0, count), `keys_${count}`),
  ]));
  const empty = await diskOf(database);
  return { database, loads, empty, filled: 0, posted: 0, relations: null };
}

async function grow(bench: Bench, store: Store, events: number): Promise<void> {
  if (store.filled === events) return;
  const { options: { sizes }, bodies, stage } = bench;
  const total = sizes.at(-1) ?? events;
  await fill(store.database.sql, { events, filled: store.filled, total, pending: 0, bodies });
  await stage.checkpoint();
  Object.assign(store, { filled: events, relations: null });
}

/** The bytes of tables and indexes, and of all. */
async function diskOf({ sql }: Database): Promise<Map<string, number>> {
  const rows = await sql<{ name: string; bytes: number }[]>`
    select case relkind when 'i' then 'index ' else 'table ' end || relname as name,
      pg_table_size(oid)::float8 as bytes
    from pg_class where relkind in ('r', 'i') and relnamespace = 'public'::regnamespace
    union all
    select ${wholeDatabase}, pg_database_size(current_database())::float8`;
  return new Map(rows.map(({ name, bytes }) => [name, bytes]));
}

/** What the disk has since the first event, for each event that is stored now. */
async function disk(store: Store): Promise<Measures> {
  const now = await diskOf(store.database);
  const events = store.filled + store.posted;
  const perEvent = new Map(
    [...now].map(([name, bytes]) => [name, (bytes - (store.empty.get(name) ?? 0)) / events]),
  );
  store.relations ??= [...perEvent].filter(([, bytes]) => bytes >= relationBytesMin).map(([name]) => name);
  return Object.fromEntries(store.relations.map((name) => [diskMeasure(name), perEvent.get(name) ?? 0]));
}

async function search({ database }: Store): Promise<Measures> {
  const found = [...await searchTimes(database)];
  return Object.fromEntries(
    found.flatMap(([question, { median, slowest }]) => [
      [searchMeasure(question), median],
      [slowestMeasure(question), slowest],
    ]),
  );
}

function groupsOf(sizes: readonly number[], keyCounts: readonly number[]): Group[] {
  const opened = new Map<Tree, Promise<Store>>();
  const point = (events: number, keys: number): Open => async (bench) => {
    const opening = opened.get(bench.tree) ?? openStore(bench);
    opened.set(bench.tree, opening);
    const store = await opening;
    await grow(bench, store, events);
    const load = store.loads.get(keys) as Load;
    return {
      run: async () => {
        const measures = await onStore(
          { ...bench, load },
          store.database,
          (bench, { url }) => startService(bench, { databaseUrl: url }),
          { connections: inFlight },
        );
        store.posted += measures["leads stored"] ?? 0;
        return { ...measures, ...await disk(store), ...await search(store) };
      },
    };
  };
  return sizes.map((events) => {
    const peer = `bare node:http, ${events} events`;
    const points = keyCounts.map((keys) => ({ keys, name: pointName(events, keys) }));
    return {
      rows: Object.fromEntries(points.map(({ keys, name }) => [`${events}_${keys}`, {
        name: `processor time a lead of PostgreSQL, ${name}, against the bare server's a post`,
        of: "PostgreSQL, processor µs per lead",
        unit: "µs",
        ours: name,
        peer,
        peerOf: "server, processor µs per lead",
      }])),
      ours: Object.fromEntries(points.map(({ keys, name }) => [name, point(events, keys)])),
      peers: { [peer]: bare },
    };
  });
}

/** `npm run bench -- curve`. */
export const curve: Suite = {
  about: "what a lead costs as the store grows, with few keys and with many",
  needs: { wrk: "wrk" },
  conditions: [
    "one machine for client, server and PostgreSQL; loopback; wrk with one thread and 64 connections",
    "ours: the one file of a release with everything on, its access log written to a file on the same disk, limits raised",
    "one database that grows: filled with events of all keys, one every 5 s, whose indexes were then built in one go; a checkpoint before the first round of each size and none between rounds",
    "leads: 500 to 700 bytes, each with an Idempotency-Key of its own; each key of a tenant of its own; the store has as many tenants as the largest number of keys, and leads come with the first so many",
    "the operator's search: after each round, with nobody else in the database, nineteen questions of each kind after a first",
    "checked after each round: every acknowledged lead is in the store",
  ],
  defaults: { rounds: 3 },
  groups: ({ sizes, keys }) => groupsOf(sizes, keys),
  draw: drawCurve,
};
