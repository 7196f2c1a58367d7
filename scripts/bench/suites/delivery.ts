/**
 * What the delivery must reach: how fast a backlog is drained beside two job queues, and how leads fare that are
 * delivered as they come.
 *
 * @module
 */

import postgres from "postgres";
import { backlogOf, fillQueue } from "../delivery/backlog.ts";
import { ours as ourDeliverer, queue, type QueuePeer } from "../delivery/deliverers.ts";
import { drain, tryOut } from "../delivery/drain.ts";
import { type Offer, offer } from "../delivery/offer.ts";
import type { Database } from "../stage.ts";
import type { Group, Open, Suite } from "../suite.ts";
import { climb, type Step } from "../tuning.ts";

const ours = (isTls: boolean): Open => async (bench) => {
  const leads = await backlogOf(bench);
  return { run: () => drain(bench, ourDeliverer(bench, leads, isTls), leads) };
};

/** A peer with its best settings, which are found one after another from these on. */
const best =
  (peer: QueuePeer, start: Settings, steps: (quick: boolean) => readonly Step<Settings>[]): Open =>
  async (bench) => {
    const leads = await backlogOf(bench);
    const template = await fillQueue(bench, leads, peer);
    const { quick, backlog } = bench.options;
    const { best, note } = await climb(
      peer,
      start,
      steps(quick),
      (settings) => tryOut(bench, queue(peer, template, settings), backlog * 0.3),
    );
    return { note, run: () => drain(bench, queue(peer, template, best), leads) };
  };

type Settings = Readonly<Record<string, string | number>>;

/** Its HTTP client, jobs at once with a connection each, local queue and delay of batched completion. */
const graphile = best(
  "graphile_worker",
  { CLIENT: "http", CONCURRENCY: 64, QUEUE_SIZE: 500, COMPLETE_DELAY_MS: 0 },
  (quick) => [
    { CLIENT: ["undici"] },
    { CONCURRENCY: quick ? [128] : [24, 32, 96, 128, 256] },
    { QUEUE_SIZE: quick ? [1_000] : [200, 1_000, 2_000] },
    { COMPLETE_DELAY_MS: quick ? [20] : [5, 20, 100, 250] },
    // Again, now that the rest is better.
    quick ? {} : { CLIENT: ["http", "undici"], CONCURRENCY: [48, 64, 128] },
  ],
);

/** Its HTTP client, batch size, workers and connections. */
const boss = best(
  "pg_boss",
  { CLIENT: "undici", BATCH_SIZE: 500, WORKERS: 2, CONNECTIONS: 64 },
  (quick) => [
    { CLIENT: ["http"] },
    { WORKERS: quick ? [4] : [1, 4, 8] },
    { BATCH_SIZE: quick ? [1_000] : [100, 250, 1_000, 2_000] },
    { CONNECTIONS: quick ? [128] : [32, 128, 256] },
    quick ? {} : { WORKERS: [1, 2, 3, 4, 6, 8] },
  ],
);

const drained: Group = {
  rows: {
    graphile: {
      name: "drained/s over plain HTTP against graphile-worker",
      of: "drained/s",
      ours: "ours",
      peer: "graphile-worker",
      target: { atLeast: 1 },
    },
    boss: {
      name: "drained/s over plain HTTP against pg-boss",
      of: "drained/s",
      ours: "ours",
      peer: "pg-boss",
      target: { atLeast: 3 },
    },
    graphile_cost: {
      name: "deliveries for a second of processor time against graphile-worker",
      of: "deliveries per processor second",
      ours: "ours",
      peer: "graphile-worker",
      target: { atLeast: 1.5 },
      note: "the deliverer's process and all of PostgreSQL's; the sink's is not counted",
    },
    boss_cost: {
      name: "deliveries for a second of processor time against pg-boss",
      of: "deliveries per processor second",
      ours: "ours",
      peer: "pg-boss",
      target: { atLeast: 2 },
      note: "the same",
    },
    tls: {
      name: "drained/s over mutual TLS against plain HTTP, both ours",
      of: "drained/s",
      ours: "ours over mutual TLS",
      peer: "ours",
      target: { atLeast: 0.7 },
    },
  },
  ours: { "ours": ours(false), "ours over mutual TLS": ours(true) },
  peers: { "graphile-worker": graphile, "pg-boss": boss },
};

const offered = (wanted: Offer): Open => (bench) => ({ run: () => offer(bench, wanted) });

const handover = (seconds: number): Group => {
  const perSecond = 200;
  const name = `202 to arrival at the sink, ${perSecond} leads/s`;
  return {
    rows: {
      handover: {
        name: `${name}: median`,
        of: "202 to arrival, median ms",
        unit: "ms",
        ours: "at leisure",
        target: { atMost: 5 },
      },
      handover_p99: {
        name: `${name}: 99th percentile`,
        of: "202 to arrival, 99th percentile ms",
        unit: "ms",
        ours: "at leisure",
        target: { atMost: 50 },
      },
    },
    ours: { "at leisure": offered({ perSecond, seconds, isDelivering: true }) },
  };
};

/** A transaction that stays open elsewhere keeps PostgreSQL from cleaning up behind the outbox. */
const held = (seconds: number): Group => {
  const common = { perSecond: 500, seconds, isDelivering: true };
  return {
    rows: {
      held: {
        name: `delivered/s at 500 leads/s for ${seconds} s, a transaction held open`,
        of: "delivered/s",
        ours: "a transaction held",
        peer: "none held",
        target: { atLeast: 0.95 },
        note: "one round of each",
      },
    },
    ours: {
      "none held": offered(common),
      "a transaction held": offered({ ...common, meanwhile: holdTransaction }),
    },
    rounds: 1,
  };
};

/** Begins a transaction on a connection of its own whose snapshot nothing newer can be cleaned up behind. */
async function holdTransaction({ url, sql }: Database): Promise<() => Promise<void>> {
  const holder = postgres(url, { max: 1, onnotice: () => {} });
  await holder.unsafe("begin isolation level repeatable read");
  const [row] = await holder<
    { pid: number }[]
  >`select pg_backend_pid() as pid, pg_current_xact_id()::text as xid`;
  const [seen] = await sql<{ holds: boolean }[]>`
    select backend_xmin is not null as holds from pg_stat_activity where pid = ${row?.pid ?? 0}`;
  if (seen?.holds !== true) throw new Error("The transaction does not hold xmin");
  return async () => {
    await holder.unsafe("rollback");
    await holder.end({ timeout: 5 });
  };
}

const many = (seconds: number): Group => {
  const common = { perSecond: 2_000, seconds };
  return {
    rows: {
      offered: {
        name: `2000 leads/s for ${seconds} s while delivering: work that is left at the end`,
        of: "s until the outbox is empty",
        unit: "s",
        ours: "delivering",
        target: { atMost: 2 },
        note: "from the last 202 until the outbox is empty",
      },
      answers: {
        name: "the intake's 99th percentile against the same without delivery",
        of: "request to 202, 99th percentile ms",
        ours: "delivering",
        peer: "not delivering",
        target: { atMost: 2 },
        note: "from the request to its 202; the client sends on time, whatever the answers do",
      },
    },
    ours: {
      "delivering": offered({ ...common, isDelivering: true }),
      "not delivering": offered({ ...common, isDelivering: false }),
    },
  };
};

/** `npm run bench -- delivery`. */
export const delivery: Suite = {
  about: "what the delivery must reach",
  hasPackages: true,
  conditions: [
    "one machine for client, service, sink and PostgreSQL; loopback; a fresh database and a fresh sink each round",
    "ours: the one file of a release with everything on and its default settings; it keeps a row for every attempt, the event, leases",
    "peers: an event is a job of its own with a retry of its own, its body one string in the payload; no row for an attempt, no rate limits, no breaker, no time limit for a request; graphile-worker logs no successes, pg-boss does no maintenance",
    "sink: a process that splits the bytes into requests and answers 200 at once; one request at a time on a connection",
    "drained/s: backlog through the time from the first arrival at the sink until the queue is empty",
    "checked after each round: every event has arrived at the sink once, nothing is left in the queue or the outbox",
  ],
  groups: ({ seconds, held: heldSeconds }) => [
    drained,
    handover(3 * seconds),
    held(heldSeconds),
    many(6 * seconds),
  ],
};
