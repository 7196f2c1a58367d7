/**
 * Each peer at its best: candidates are tried before the rounds, the fastest takes part.
 *
 * @module
 */

import { type Bench, measureOnStore, onFreshDatabase } from "../measure.ts";
import {
  findPgbench,
  type PgbenchForm,
  type PgbenchRound,
  pgbenchVersion,
  runPgbench,
  writeScripts,
} from "../pgbench.ts";
import { candidates } from "../report.ts";
import { digits } from "../stats.ts";
import type { Database } from "../stage.ts";
import { buildFolder, startFastify } from "../targets.ts";

function best<T>(found: ReadonlyMap<T, number>): T {
  return [...found].reduce((a, b) => b[1] > a[1] ? b : a)[0];
}

/** The pool size with which Fastify accepts most. */
export async function tuneFastify(bench: Bench): Promise<{ poolSize: number; notes: string[] }> {
  const { options } = bench;
  const round = { connections: options.inFlight, warmUpSeconds: 1, seconds: options.tuneSeconds };
  const measure = (poolSize: number, pipeline: boolean) =>
    onFreshDatabase(bench, async (database) => {
      const startTarget = (databaseUrl: string) => startFastify({ databaseUrl, poolSize, pipeline });
      return (await measureOnStore(bench, database, { startTarget, round }))
        .perSecond;
    });
  const found = new Map<number, number>();
  for (const poolSize of options.quick ? [16, 32] : [4, 8, 12, 16, 24, 32, 64]) {
    found.set(poolSize, await measure(poolSize, false));
    bench.say(`tuning: Fastify with a pool of ${poolSize}: ${digits(found.get(poolSize) ?? 0)} leads/s`);
  }
  const poolSize = best(found);
  const pipelined = await measure(poolSize, true);
  const named = new Map([...found].map(([size, perSecond]) => [`pool of ${size}`, perSecond]));
  return {
    poolSize,
    notes: [
      `Fastify tried with: ${candidates(named)}`,
      `for information: with node-postgres's pipeline mode, which few use, ${digits(pipelined)}/s`,
    ],
  };
}

/** pgbench with the clients and the form with which it is fastest. */
export interface TunedPgbench {
  readonly form: PgbenchForm;
  readonly clients: number;
  readonly notes: readonly string[];
  readonly runOn: (database: Database, round: PgbenchRound) => Promise<number>;
}

/** The best of several client counts and both forms, or `null` when pgbench is not installed. */
export async function tunePgbench(bench: Bench): Promise<TunedPgbench | null> {
  const { options } = bench;
  const program = findPgbench();
  if (program === undefined) return null;
  const load = writeScripts(buildFolder, bench.bodies);
  const runOn = (database: Database, round: PgbenchRound) =>
    runPgbench({ program, load, databaseUrl: database.url }, round);

  const found = new Map<{ form: PgbenchForm; clients: number }, number>();
  for (const form of ["statements", "one"] as const) {
    for (const clients of options.quick ? [32] : [8, 16, 32, 64, 96]) {
      const perSecond = await onFreshDatabase(
        bench,
        (database) => runOn(database, { form, clients, seconds: options.tuneSeconds }),
      );
      found.set({ form, clients }, perSecond);
      bench.say(`tuning: pgbench, ${clients} clients, ${formNames[form]}: ${digits(perSecond)} leads/s`);
    }
  }
  const { form, clients } = best(found);
  const named = new Map(
    [...found].map(([{ form, clients }, perSecond]) => [`${clients} clients, ${formNames[form]}`, perSecond]),
  );
  return {
    form,
    clients,
    runOn,
    notes: [`${await pgbenchVersion(program)}, tried with: ${candidates(named)}`],
  };
}

const formNames = { statements: "BEGIN, two INSERTs, COMMIT", one: "one statement" } as const;
