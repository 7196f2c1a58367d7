/** Measures the intake's throughput, latency, writes, memory and start time, compared with its peers on one PostgreSQL. */

import type { OpenContender, Suite } from "./measure.ts";
import { pgbench } from "./peers/pgbench.ts";
import { loadTarget, measureStore, type Start } from "./posting.ts";
import { buildService, cpuSeconds, memoryMiB, startPeer, startService } from "./programs.ts";

export const startOurs: Start = (bench, { url }) => startService(bench, { DATABASE_URL: url });

// A pool of 8 is the fastest of 4, 8, 12, 16, 24, 32 and 64.
const startFastify = (poolSize: number): Start => (_bench, { url }) =>
  startPeer("fastify", { DATABASE_URL: url, POOL_SIZE: poolSize });

/** Runs a server that stores leads, with a new database for each round. */
const withFreshDatabase = (start: Start, connections?: number): OpenContender => (bench) => ({
  run: () =>
    bench.postgresServer.withDatabase(
      bench.checkout,
      (database) => measureStore(bench, database, start, connections),
    ),
});

/** Runs the bare server, which only parses the body and responds. */
export const bare: OpenContender = async (bench) => {
  const target = await startPeer("bare", {});
  return { run: async () => (await loadTarget(bench, target)).measures, close: () => target.stop() };
};

/** Measures the time from the start of the process to its first 202, on a migrated database. */
const firstResponse: OpenContender = async (bench) => {
  // Builds the service before the timing starts.
  await buildService(bench.checkout);
  const database = await bench.postgresServer.createDatabase(bench.checkout);
  let starts = 0;
  return {
    async run() {
      const startedAtMs = performance.now();
      const target = await startService(bench, { DATABASE_URL: database.url }, "intake");
      try {
        const response = await fetch(`${target.urls.intake}/v1/intake`, {
          method: "POST",
          headers: {
            "Content-Type": "application/json",
            "X-API-Key": bench.postgresServer.keys[0] as string,
            "Idempotency-Key": `provider:start-${starts += 1}`,
          },
          body: bench.bodies[0] as string,
        });
        if (response.status !== 202) {
          throw new Error(`The first response was ${response.status}`);
        }
        await response.text();
        return {
          "s to the first 202": (performance.now() - startedAtMs) / 1_000,
          "processor ms to the first 202": cpuSeconds(target.pid) * 1_000,
          "MiB resident": memoryMiB(target.pid, "VmRSS"),
        };
      } finally {
        await target.stop();
        await database.waitForClients();
      }
    },
    close: () => database.drop(),
  };
};

/** `npm run bench -- intake`. */
export const intake: Suite = {
  about: "leads/s, processor time, writes, memory, latency and start time",
  hasPackages: true,
  groups: () => [{
    ours: { ours: withFreshDatabase(startOurs) },
    peers: { "Fastify": withFreshDatabase(startFastify(8)), pgbench, "bare node:http": bare },
  }, {
    ours: { "ours, one in flight": withFreshDatabase(startOurs, 1) },
    peers: { "Fastify, one in flight": withFreshDatabase(startFastify(2), 1) },
  }, { ours: { start: firstResponse } }],
};
