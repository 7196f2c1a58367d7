/**
 * The cost of a lead as the store grows: fills one database step by step and, at each size, posts leads with few keys and
 * with many.
 */

import { statfsSync } from "node:fs";
import { fill } from "./events.ts";
import { bare, startOurs } from "./intake.ts";
import type { Bench, Load, Open, Suite } from "./measure.ts";
import { onStore, writeLoad } from "./posting.ts";
import type { Tree } from "./programs.ts";
import { addKeys, type Database, makeKeys } from "./stage.ts";

/** A generous estimate: an event with its index entries, plus WAL. */
const [bytesAnEvent, bytesOfWal] = [2_000, 8e9];

/** The database that all points share; it grows from one size to the next. */
interface Store {
  readonly database: Database;
  readonly loads: ReadonlyMap<number, Load>;
  readonly emptyBytes: number;
  filled: number;
  posted: number;
}

async function openStore({ options, stage, tree, bodies }: Bench): Promise<Store> {
  const neededBytes = (options.sizes.at(-1) ?? 0) * bytesAnEvent + bytesOfWal;
  const { bavail, bsize } = statfsSync(stage.dataFolder);
  if (bavail * bsize < neededBytes) {
    throw new Error(`${stage.dataFolder} needs ${Math.round(neededBytes / 1e9)} GB of free space`);
  }
  const database = await stage.createDatabase(tree);
  const keys = makeKeys(options.keys.at(-1) ?? 1);
  await addKeys(database.sql, keys);
  const loads = new Map(
    options.keys.map((count) => [count, writeLoad(bodies, keys.slice(0, count), `keys_${count}`)]),
  );
  return { database, loads, emptyBytes: await bytesOf(database), filled: 0, posted: 0 };
}

async function bytesOf({ sql }: Database): Promise<number> {
  const [row] = await sql<[{ bytes: number }]>`select pg_database_size(current_database())::float8 as bytes`;
  return row.bytes;
}

const stores = new Map<Tree, Promise<Store>>();

const point = (events: number, keys: number): Open => async (bench) => {
  const opening = stores.get(bench.tree) ?? openStore(bench);
  stores.set(bench.tree, opening);
  const store = await opening;
  const { database, filled, loads } = store;
  if (filled < events) {
    const total = bench.options.sizes.at(-1) ?? events;
    await fill(database.sql, { events, filled, total, pending: 0, bodies: bench.bodies });
    await bench.stage.checkpoint();
    store.filled = events;
  }
  return {
    run: async () => {
      const measures = await onStore({ ...bench, load: loads.get(keys) as Load }, database, startOurs);
      store.posted += measures["leads stored"] ?? 0;
      const bytes = await bytesOf(database) - store.emptyBytes;
      return { ...measures, "bytes on disk an event": bytes / (store.filled + store.posted) };
    },
  };
};

/** `npm run bench -- curve`. */
export const curve: Suite = {
  about: "the cost of a lead as the store grows, with few keys and with many",
  groups: ({ sizes, keys }) =>
    sizes.map((events) => ({
      ours: Object.fromEntries(
        keys.map((count) => [`${events} events, ${count} keys`, point(events, count)]),
      ),
      peers: { [`bare node:http, ${events} events`]: bare },
    })),
};
