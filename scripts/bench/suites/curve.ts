/**
 * The cost of a lead as the store grows: one database is filled step by step, and at each size leads are posted with few
 * keys and with many.
 *
 * @module
 */

import { statfsSync } from "node:fs";
import { fill } from "../load/events.ts";
import { addKeys } from "../load/keys.ts";
import { onStore } from "../load/posting.ts";
import { type Load, writeLoad } from "../load/wrk.ts";
import type { Bench, Group, Open, Suite } from "../measure.ts";
import type { Tree } from "../programs.ts";
import type { Database } from "../stage.ts";
import { bare, inFlight, startOurs } from "./intake.ts";

/** An event with its entries in all indexes, and the WAL besides: enough, not exact. */
const [bytesAnEvent, bytesOfWal] = [2_000, 8e9];

/** The database that all points share, and that grows from one size to the next. */
interface Store {
  readonly database: Database;
  readonly loads: ReadonlyMap<number, Load>;
  readonly emptyBytes: number;
  filled: number;
  posted: number;
}

async function openStore({ options, stage, tree, bodies }: Bench): Promise<Store> {
  const largest = options.sizes.at(-1) ?? 0;
  const neededBytes = largest * bytesAnEvent + bytesOfWal;
  const { bavail, bsize } = statfsSync(stage.dataFolder);
  if (bavail * bsize < neededBytes) {
    const gigabytes = (bytes: number) => `${Math.round(bytes / 1e9)} GB`;
    throw new Error(
      `${largest} events need ${gigabytes(neededBytes)}, and ${gigabytes(bavail * bsize)} are free`,
    );
  }
  const database = await stage.createDatabase(tree);
  const keys = await addKeys(database.sql, options.keys.at(-1) ?? 1);
  await database.sql`vacuum analyze`;
  const loads = new Map(options.keys.map((count) => [
    count,
    writeLoad(bodies, keys.slice(0, count), `keys_${count}`),
  ]));
  return { database, loads, emptyBytes: await bytesOf(database), filled: 0, posted: 0 };
}

async function bytesOf({ sql }: Database): Promise<number> {
  const [row] = await sql<{ bytes: number }[]>`
    select pg_database_size(current_database())::float8 as bytes`;
  return row?.bytes ?? 0;
}

async function grow({ options: { sizes }, bodies, stage }: Bench, store: Store, events: number) {
  if (store.filled === events) return;
  const total = sizes.at(-1) ?? events;
  await fill(store.database.sql, { events, filled: store.filled, total, pending: 0, bodies });
  await stage.checkpoint();
  store.filled = events;
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
        const posting = { connections: inFlight };
        const measures = await onStore({ ...bench, load }, store.database, startOurs, posting);
        store.posted += measures["leads stored"] ?? 0;
        const bytes = await bytesOf(store.database) - store.emptyBytes;
        return { ...measures, "bytes on disk an event": bytes / (store.filled + store.posted) };
      },
    };
  };
  return sizes.map((events) => ({
    ours: Object.fromEntries(
      keyCounts.map((keys) => [`${events} events, ${keys} keys`, point(events, keys)]),
    ),
    peers: { [`bare node:http, ${events} events`]: bare },
  }));
}

/** `npm run bench -- curve`. */
export const curve: Suite = {
  about: "the cost of a lead as the store grows, with few keys and with many",
  groups: ({ sizes, keys }) => groupsOf(sizes, keys),
};
