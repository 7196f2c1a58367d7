/**
 * Measures the cost of a lead as the store grows: fills a database step by step and, at each size, posts leads with few
 * keys and with many.
 */

import { statfsSync } from "node:fs";
import { fill } from "./events.ts";
import { bare, startOurs } from "./intake.ts";
import type { Bench, Load, OpenContender, Suite } from "./measure.ts";
import { measureStore, writeLoad } from "./posting.ts";
import type { Checkout } from "./programs.ts";
import { addKeys, type Database, makeKeys } from "./stage.ts";

/** Generous estimates of the size of an event with its index entries, and of the whole WAL. */
const [bytesPerEvent, walBytes] = [2_000, 8e9];

/** The database for all points of a curve, which grows from one size to the next. */
interface Store {
  readonly database: Database;
  readonly loads: ReadonlyMap<number, Load>;
  readonly emptyBytes: number;
  filled: number;
  posted: number;
}

async function openStore({ options, postgresServer, checkout, bodies }: Bench): Promise<Store> {
  const neededBytes = (options.sizes.at(-1) ?? 0) * bytesPerEvent + walBytes;
  const { bavail, bsize } = statfsSync(postgresServer.dataFolder);
  if (bavail * bsize < neededBytes) {
    throw new Error(`${postgresServer.dataFolder} needs ${Math.round(neededBytes / 1e9)} GB of free space`);
  }
  const database = await postgresServer.createDatabase(checkout);
  const keys = makeKeys(options.keys.at(-1) ?? 1);
  await addKeys(database.sql, keys);
  const loads = new Map(
    options.keys.map((count) => [count, writeLoad(bodies, keys.slice(0, count), `keys_${count}`)]),
  );
  return { database, loads, emptyBytes: await databaseBytes(database), filled: 0, posted: 0 };
}

async function databaseBytes({ sql }: Database): Promise<number> {
  const [row] = await sql<[{ bytes: number }]>`select pg_database_size(current_database())::float8 as bytes`;
  return row.bytes;
}

const stores = new Map<Checkout, Promise<Store>>();

const curvePoint = (events: number, keys: number): OpenContender => async (bench) => {
  const storePromise = stores.get(bench.checkout) ?? openStore(bench);
  stores.set(bench.checkout, storePromise);
  const store = await storePromise;
  const { database, filled, loads } = store;
  if (filled < events) {
    const total = bench.options.sizes.at(-1) ?? events;
    await fill(database.sql, { events, filled, total, pending: 0, bodies: bench.bodies });
    await bench.postgresServer.checkpoint();
    store.filled = events;
  }
  return {
    run: async () => {
      const measures = await measureStore({ ...bench, load: loads.get(keys) as Load }, database, startOurs);
      store.posted += measures["leads stored"] ?? 0;
      const bytes = await databaseBytes(database) - store.emptyBytes;
      return { ...measures, "bytes on disk per event": bytes / (store.filled + store.posted) };
    },
  };
};

/** `npm run bench -- curve`. */
export const curve: Suite = {
  about: "the cost of a lead as the store grows, with few keys and with many",
  groups: ({ sizes, keys }) =>
    sizes.map((events) => ({
      ours: Object.fromEntries(
        keys.map((count) => [`${events} events, ${count} keys`, curvePoint(events, count)]),
      ),
      peers: { [`bare node:http, ${events} events`]: bare },
    })),
};
