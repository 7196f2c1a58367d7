/**
 * The intake: throughput, latency, writes, memory and start, beside its peers on one PostgreSQL.
 *
 * @module
 */

import { loadTarget, onStore, type Posting, type Start } from "../load/posting.ts";
import type { Measures, Open, Suite } from "../measure.ts";
import { openPgbench } from "../peers/pgbench.ts";
import { programOf, startPeer, startService } from "../service.ts";
import { cpuSeconds, readMemory } from "../usage.ts";

/** Requests in flight at saturation. */
export const inFlight = 64;

/** Our service, with everything on. */
export const startOurs: Start = (bench, { url }) => startService(bench, { databaseUrl: url });

/** Chosen: 8, the fastest of 4, 8, 12, 16, 24, 32 and 64. With one request in flight one connection is in use. */
const startFastify = (poolSize: number): Start => (_bench, { url }) =>
  startPeer("fastify", { DATABASE_URL: url, POOL_SIZE: poolSize });

/** A server that stores, on a fresh database each round. */
const onFresh = (start: Start, posting: Posting): Open => (bench) => ({
  run: () => bench.stage.lend(bench.tree, (database) => onStore(bench, database, start, posting)),
});

/** The bare server: it parses the body, answers and does nothing else. */
export const bare: Open = async (bench) => {
  const target = await startPeer("bare", {});
  return {
    run: async () => (await loadTarget(bench, target, { connections: inFlight })).measures,
    close: () => target.stop(),
  };
};

/** From the start of the process to its first 202, on a migrated database. */
const start: Open = async (bench) => {
  // Built before the clock runs.
  await programOf(bench.tree);
  const database = await bench.stage.createDatabase(bench.tree);
  let starts = 0;
  const once = async (): Promise<Measures> => {
    const startedAtMs = performance.now();
    const target = await startService(bench, { databaseUrl: database.url, listener: "intake" });
    try {
      const answer = await fetch(`${target.urls.intake}/v1/intake`, {
        method: "POST",
        headers: {
          "Content-Type": "application/json",
          "X-API-Key": bench.stage.keys[0] as string,
          "Idempotency-Key": `provider:start-${starts += 1}`,
        },
        body: bench.bodies[0] as string,
      });
      if (answer.status !== 202) throw new Error(`The first answer was ${answer.status}`);
      const seconds = (performance.now() - startedAtMs) / 1_000;
      await answer.text();
      return {
        "s to the first 202": seconds,
        "processor ms to the first 202": cpuSeconds(target.pid) * 1_000,
        "MiB resident": readMemory(target.pid).residentMiB,
      };
    } finally {
      await target.stop();
      await database.quiet();
    }
  };
  return { run: once, close: () => database.drop() };
};

/** `npm run bench -- intake`. */
export const intake: Suite = {
  about: "leads/s, processor time, writes, memory, latency and start",
  hasPackages: true,
  groups: () => [
    {
      ours: { ours: onFresh(startOurs, { connections: inFlight }) },
      peers: {
        "Fastify": onFresh(startFastify(8), { connections: inFlight }),
        "pgbench, BEGIN, two INSERTs, COMMIT": openPgbench("BEGIN, two INSERTs, COMMIT"),
        "pgbench, one statement": openPgbench("one statement"),
        "bare node:http": bare,
      },
    },
    {
      ours: { "ours, one in flight": onFresh(startOurs, { connections: 1 }) },
      peers: { "Fastify, one in flight": onFresh(startFastify(2), { connections: 1 }) },
    },
    { ours: { start } },
  ],
};
