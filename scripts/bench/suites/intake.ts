/**
 * What the intake must reach: throughput, latency, writes, memory and start, beside its peers on one PostgreSQL.
 *
 * @module
 */

import {
  bare,
  fastify,
  inFlight,
  onEmpty,
  onFresh,
  onStored,
  start,
  startFastify,
  startOurs,
  startProcesses,
} from "../load/takers.ts";
import { openPgbench } from "../peers/pgbench.ts";
import type { Group, Suite, Target } from "../suite.ts";

/** The processor time of a process of ours, against what a bare post costs its server. */
const againstBare = (name: string, process: string, target: { target?: Target } = {}) => ({
  name: `processor time a lead of ${name}, against the bare server's a post`,
  of: `${process}, processor µs per lead`,
  unit: "µs",
  ours: "ours",
  peer: "bare node:http",
  peerOf: "server, processor µs per lead",
  ...target,
});

const bareNote =
  "the bare server parses the posted JSON and answers 202 with JSON; no check, no store, no log";

const saturation: Group = {
  rows: {
    fastify: {
      name: "leads/s, 64 in flight, against Fastify + node-postgres",
      of: "leads/s",
      ours: "ours",
      peer: "Fastify",
      target: { atLeast: 4 },
    },
    pgbench: {
      name: "leads/s against pgbench -M prepared: BEGIN, two INSERTs, COMMIT",
      of: "leads/s",
      ours: "ours",
      peer: "pgbench, BEGIN, two INSERTs, COMMIT",
      target: { atLeast: 1.5 },
    },
    pgbench_one: {
      name: "leads/s against pgbench -M prepared: both INSERTs in a single statement",
      of: "leads/s",
      ours: "ours",
      peer: "pgbench, one statement",
    },
    bare: {
      name: "leads/s against bare node:http without a store",
      of: "leads/s",
      ours: "ours",
      peer: "bare node:http",
      target: { atLeast: 0.3 },
      note: bareNote,
    },
    cpu_service: againstBare("the service", "server", { target: { atMost: 1.5 } }),
    cpu_postgresql: againstBare("PostgreSQL, all its processes", "PostgreSQL", { target: { atMost: 0.8 } }),
    cpu_client: againstBare("the load generator", "wrk"),
    wal: {
      name: "WAL per accepted lead",
      of: "WAL bytes a lead",
      unit: "bytes",
      ours: "ours",
    },
    syncs: {
      name: "WAL syncs per accepted lead at saturation",
      of: "WAL syncs a lead",
      unit: "",
      ours: "ours",
      target: { atMost: 0.1 },
      note: "pg_stat_io.fsyncs of object wal, context normal, from the server's start to its end",
    },
    transactions: {
      name: "transactions of PostgreSQL per accepted lead, each of the service's a single statement",
      of: "transactions a lead",
      unit: "",
      ours: "ours",
      note: "pg_stat_database.xact_commit, from the service's start to its end",
    },
    allocated: {
      name: "allocated on V8's heap per accepted lead, against the bare server",
      of: "KiB allocated a lead",
      unit: "KiB",
      ours: "ours",
      peer: "bare node:http",
    },
    memory: {
      name: "resident memory at saturation",
      of: "MiB resident, highest",
      unit: "MiB",
      ours: "ours",
      target: { atMost: 150 },
      judged: "highest",
      note: "judged by the highest VmHWM of all rounds",
    },
  },
  ours: { ours: onFresh(startOurs, { connections: inFlight }) },
  peers: {
    "Fastify": fastify,
    "pgbench, BEGIN, two INSERTs, COMMIT": openPgbench("BEGIN, two INSERTs, COMMIT"),
    "pgbench, one statement": openPgbench("one statement"),
    "bare node:http": bare,
  },
};

const latency: Group = {
  rows: {
    latency: {
      name: "one in flight: median latency against Fastify",
      of: "median ms",
      ours: "ours, one in flight",
      peer: "Fastify, one in flight",
      target: { atMost: 1.3 },
    },
  },
  ours: { "ours, one in flight": onFresh(startOurs, { connections: 1 }) },
  // With one request in flight, one connection is in use; the pool keeps a spare one.
  peers: { "Fastify, one in flight": onFresh(startFastify(2), { connections: 1 }) },
};

const many = 4;
const processes: Group = {
  rows: {
    processes: {
      name:
        `processor time a lead of the service and PostgreSQL, ${many} processes against one, ${inFlight} in flight to each`,
      of: "server and PostgreSQL, processor µs per lead",
      unit: "µs",
      ours: `${many} processes`,
      peer: "one process",
      target: { atMost: 1.1 },
    },
  },
  ours: {
    // As many to each process, so that the batches are as large.
    [`${many} processes`]: onFresh(startProcesses(many), { connections: many * inFlight }),
    "one process": onFresh(startProcesses(1), { connections: inFlight }),
  },
};

const started: Group = {
  rows: {
    start: {
      name: "start of the process to its first 202, migrated database",
      of: "s to the first 202",
      unit: "s",
      ours: "start",
      target: { atMost: 0.25 },
    },
    rest: {
      name: "resident memory after the first 202",
      of: "MiB resident",
      unit: "MiB",
      ours: "start",
      target: { atMost: 60 },
    },
  },
  ours: { start },
};

const stored = (events: number): Group => ({
  rows: {
    stored: {
      name: `leads/s with ${events.toLocaleString("en-US")} events stored, against an empty store`,
      of: "leads/s",
      ours: "full",
      peer: "empty",
      target: { atLeast: 0.9 },
      note:
        "one checkpoint before the first round, which so pays for the first change of each page; none between rounds",
    },
  },
  ours: { full: onStored(events), empty: onEmpty },
});

const indexes = (events: number): Group => ({
  rows: {
    indexes: {
      name: "leads/s with the operator's search indexes, against the same store without them",
      of: "leads/s",
      ours: "with the search's indexes",
      peer: "without them",
      target: { atLeast: 0.75 },
    },
  },
  // The cost hardly grows with the store, since new entries go to the end of each index.
  ours: {
    "with the search's indexes": onStored(Math.ceil(events / 10)),
    "without them": onStored(Math.ceil(events / 10), { dropsIndexes: true }),
  },
});

/** `npm run bench -- intake`. */
export const intake: Suite = {
  about: "what the intake must reach",
  needs: { wrk: "wrk" },
  hasPackages: true,
  conditions: [
    "one machine for client, server and PostgreSQL; loopback; wrk with one thread; a fresh database each round",
    "ours: the one file of a release with everything on and Node's flags of production, its access log written to a file on the same disk, limits raised",
    "Fastify: one process as ours; its logger is off, it has no rate limits, no access log, no request ids",
    "pgbench: event and outbox row only; no look at the key, no spend, no HTTP",
    "leads: 500 to 700 bytes, each with an Idempotency-Key of its own, 16 keys of 8 tenants, half with a cost",
    "checked after each round: every acknowledged lead is in the store",
  ],
  groups: ({ events }) => [saturation, latency, processes, started, stored(events), indexes(events)],
};
