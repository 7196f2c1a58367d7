/** Intake: throughput, latency, writes, memory and start, compared with its peers on one PostgreSQL. */

import type { Open, Suite } from "./measure.ts";
import { pgbench } from "./peers/pgbench.ts";
import { loadTarget, onStore, type Start } from "./posting.ts";
import { buildService, cpuSeconds, memoryMiB, startPeer, startService } from "./programs.ts";

/** The service. */
export const startOurs: Start = (bench, { url }) => startService(bench, { DATABASE_URL: url });

/** Chosen: 8, the fastest of 4, 8, 12, 16, 24, 32 and 64. One request in flight uses one connection. */
const startFastify = (poolSize: number): Start => (_bench, { url }) =>
  startPeer("fastify", { DATABASE_URL: url, POOL_SIZE: poolSize });

/** A server that stores leads, with a new database for each round. */
const onFresh = (start: Start, connections?: number): Open => (bench) => ({
  run: () => bench.stage.lend(bench.tree, (database) => onStore(bench, database, start, connections)),
});

/** The bare server, which only parses the body and answers. */
export const bare: Open = async (bench) => {
  const target = await startPeer("bare", {});
  return { run: async () => (await loadTarget(bench, target)).measures, close: () => target.stop() };
};

/** From process start to the first 202, on a migrated database. */
const start: Open = async (bench) => {
  // Build before timing starts.
  await buildService(bench.tree);
  const database = await bench.stage.createDatabase(bench.tree);
  let starts = 0;
  return {
    async run() {
      const startedAtMs = performance.now();
      const target = await startService(bench, { DATABASE_URL: database.url }, "intake");
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
        if (answer.status !== 202) {
          throw new Error(`The first answer was ${answer.status}`);
        }
        await answer.text();
        return {
          "s to the first 202": (performance.now() - startedAtMs) / 1_000,
          "processor ms to the first 202": cpuSeconds(target.pid) * 1_000,
          "MiB resident": memoryMiB(target.pid, "VmRSS"),
        };
      } finally {
        await target.stop();
        await database.quiet();
      }
    },
    close: () => database.drop(),
  };
};

/** `npm run bench -- intake`. */
export const intake: Suite = {
  about: "leads/s, processor time, writes, memory, latency and start",
  hasPackages: true,
  groups: () => [{
    ours: { ours: onFresh(startOurs) },
    peers: { "Fastify": onFresh(startFastify(8)), pgbench, "bare node:http": bare },
  }, {
    ours: { "ours, one in flight": onFresh(startOurs, 1) },
    peers: { "Fastify, one in flight": onFresh(startFastify(2), 1) },
  }, { ours: { start } }],
};
