/**
 * Rows 1, 2, 3 and 5 and the memory of row 6: many requests in flight, ours and the peers in turn.
 *
 * @module
 */

import { readFileSync } from "node:fs";
import { type Bench, loadTarget, measureOnStore, onFreshDatabase, type StoreRound } from "../measure.ts";
import type { RowResult } from "../report.ts";
import { digits, type Figure, figure, ratio } from "../stats.ts";
import { startBare, startFastify, startOurs } from "../targets.ts";
import { tuneFastify, tunePgbench } from "./tuning.ts";

/** Somebody who takes part in the rounds. */
interface Contender {
  readonly name: string;
  /** Runs one round and returns leads a second. */
  readonly run: () => Promise<number>;
}

/** A contender that ours is compared with. */
interface Peer extends Contender {
  readonly row: 1 | 2 | 3;
  readonly notes: readonly string[];
}

const peerRows = {
  1: { what: "leads/s, 64 in flight, against Fastify + node-postgres", atLeast: 3 },
  2: { what: "leads/s against pgbench -M prepared, one lead a transaction", atLeast: 1 },
  3: { what: "leads/s against bare node:http without a store", atLeast: 0.25 },
} as const;

/** Measures those of the rows that are asked for. */
export async function measureSaturation(bench: Bench): Promise<RowResult[]> {
  const wanted = (row: number) => bench.options.rows.has(row);
  if (![1, 2, 3, 5, 6].some(wanted)) return [];
  const fastify = wanted(1) ? await fastifyPeer(bench) : null;
  const pgbench = wanted(2) ? await pgbenchPeer(bench) : null;
  const bare = wanted(3) ? barePeer(bench) : null;
  const peers = [fastify, pgbench, bare].filter((peer) => peer !== null);

  const details: StoreRound[] = [];
  const ours: Contender = {
    name: "ours",
    run: async () => {
      const round = await ourRound(bench);
      details.push(round);
      return round.perSecond;
    },
  };
  const rates = await takeTurns(bench, [ours, ...peers]);
  const ourRate = rates.get(ours) as Figure;
  return [
    ...peers.map((peer) => peerRow(peer, ourRate, rates.get(peer) as Figure)),
    ...(wanted(2) && pgbench === null ? [withoutPgbench] : []),
    ...(wanted(5) ? [syncRow(details)] : []),
    ...(wanted(6) ? [memoryRow(details)] : []),
  ];
}

async function takeTurns(bench: Bench, contenders: readonly Contender[]): Promise<Map<Contender, Figure>> {
  const rates = new Map(contenders.map((contender) => [contender, [] as number[]]));
  for (let round = 0; round < bench.options.rounds; round += 1) {
    for (let turn = 0; turn < contenders.length; turn += 1) {
      // Each round another one begins, so that nobody has the same place every time.
      const contender = contenders[(round + turn) % contenders.length] as Contender;
      const perSecond = await contender.run();
      rates.get(contender)?.push(perSecond);
      bench.say(`round ${round + 1}: ${contender.name} ${digits(perSecond)} leads/s`);
    }
  }
  return new Map([...rates].map(([contender, samples]) => [contender, figure(samples)]));
}

function roundOf({ options }: Bench) {
  const { inFlight: connections, warmUpSeconds, roundSeconds: seconds } = options;
  return { connections, warmUpSeconds, seconds };
}

async function ourRound(bench: Bench): Promise<StoreRound> {
  let logFile = "";
  const startTarget = async (databaseUrl: string) => {
    const target = await startOurs({ databaseUrl });
    logFile = target.logFile;
    return target;
  };
  const round = await onFreshDatabase(
    bench,
    (database) => measureOnStore(bench, database, { startTarget, round: roundOf(bench) }),
  );
  const lines = readFileSync(logFile).reduce((count, byte) => byte === 10 ? count + 1 : count, 0);
  if (lines < round.answers) {
    throw new Error(`${round.answers} answers were given, and the access log has ${lines} lines`);
  }
  return round;
}

async function fastifyPeer(bench: Bench): Promise<Peer> {
  const { poolSize, notes } = await tuneFastify(bench);
  return {
    row: 1,
    name: `Fastify, pool of ${poolSize}`,
    notes,
    run: async () => {
      const round = await onFreshDatabase(
        bench,
        (database) =>
          measureOnStore(bench, database, {
            startTarget: (databaseUrl) => startFastify({ databaseUrl, poolSize, pipeline: false }),
            round: roundOf(bench),
          }),
      );
      return round.perSecond;
    },
  };
}

async function pgbenchPeer(bench: Bench): Promise<Peer | null> {
  const tuned = await tunePgbench(bench);
  if (tuned === null) return null;
  const { form, clients, notes, runOn } = tuned;
  const { warmUpSeconds, roundSeconds } = bench.options;
  return {
    row: 2,
    name: `pgbench, ${clients} clients`,
    notes,
    run: () =>
      onFreshDatabase(bench, async (database) => {
        await runOn(database, { form, clients, seconds: warmUpSeconds });
        return await runOn(database, { form, clients, seconds: roundSeconds });
      }),
  };
}

function barePeer(bench: Bench): Peer {
  return {
    row: 3,
    name: "bare node:http",
    notes: [],
    run: async () => {
      const target = await startBare();
      try {
        return (await loadTarget(bench, target, roundOf(bench))).perSecond;
      } finally {
        await target.stop();
      }
    },
  };
}

function peerRow(peer: Peer, ours: Figure, theirs: Figure): RowResult {
  const { what, atLeast } = peerRows[peer.row];
  return {
    row: peer.row,
    what,
    value: ratio(ours, theirs),
    unit: "×",
    target: { atLeast },
    judged: "median",
    figures: { "ours, leads/s": ours, [`${peer.name}, leads/s`]: theirs },
    notes: peer.notes,
  };
}

const withoutPgbench: RowResult = {
  row: 2,
  what: peerRows[2].what,
  value: null,
  unit: "×",
  target: { atLeast: peerRows[2].atLeast },
  judged: "median",
  figures: {},
  notes: ["pgbench is missing: apt-get install postgresql-15 (or another version) brings it"],
};

function syncRow(rounds: readonly StoreRound[]): RowResult {
  return {
    row: 5,
    what: "WAL syncs per accepted lead at saturation",
    value: figure(rounds.map((round) => round.syncsPerLead)),
    unit: "",
    target: { atMost: 0.1 },
    judged: "median",
    figures: {
      "commits per lead (pg_stat_database.xact_commit)": figure(rounds.map((round) => round.commitsPerLead)),
      "WAL bytes per lead": figure(rounds.map((round) => round.walBytesPerLead)),
      "processor µs per lead, our process": figure(rounds.map((round) => round.cpuUsPerAnswer)),
      "processor µs per lead, PostgreSQL": figure(rounds.map((round) => round.databaseCpuUsPerAnswer)),
    },
    notes: ["syncs: pg_stat_io.fsyncs of object wal, context normal, from the server's start to its end"],
  };
}

function memoryRow(rounds: readonly StoreRound[]): RowResult {
  return {
    row: 6,
    what: "resident memory at saturation",
    value: figure(rounds.map((round) => round.memory.highestMiB)),
    unit: "MiB",
    target: { atMost: 150 },
    judged: "highest",
    figures: { "VmRSS at the end of the load, MiB": figure(rounds.map((round) => round.memory.residentMiB)) },
    notes: ["judged by the highest VmHWM of all rounds"],
  };
}
