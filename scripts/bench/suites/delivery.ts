/**
 * The delivery: how fast a backlog is drained beside two job queues, and how leads fare that are delivered as they come.
 *
 * @module
 */

import { backlogOf, drain, ourDeliverer, queue, type QueuePeer } from "../delivery/drain.ts";
import { type Offer, offer } from "../delivery/offer.ts";
import type { Open, Suite } from "../measure.ts";

const ours = (isTls: boolean): Open => async (bench) => {
  const leads = await backlogOf(bench);
  return { run: () => drain(bench, ourDeliverer(bench, leads, isTls), leads) };
};

/** Chosen: the fastest of some fifteen combinations each, tried one setting after another. */
const best = {
  graphile_worker: { CLIENT: "undici", CONCURRENCY: 64, QUEUE_SIZE: 200, COMPLETE_DELAY_MS: 5 },
  pg_boss: { CLIENT: "http", BATCH_SIZE: 500, WORKERS: 4, CONNECTIONS: 64 },
} as const;

const peerOf = (peer: QueuePeer): Open => async (bench) => {
  const leads = await backlogOf(bench);
  const deliverer = await queue(bench, leads, { peer, settings: best[peer] });
  return { run: () => drain(bench, deliverer, leads) };
};

const offered = (wanted: Offer): Open => (bench) => ({ run: () => offer(bench, wanted) });

/** `npm run bench -- delivery`. */
export const delivery: Suite = {
  about: "a drained backlog beside graphile-worker and pg-boss, and leads delivered as they come",
  hasPackages: true,
  groups: ({ seconds }) => [
    {
      ours: { "ours": ours(false), "ours over mutual TLS": ours(true) },
      peers: { "graphile-worker": peerOf("graphile_worker"), "pg-boss": peerOf("pg_boss") },
    },
    { ours: { "200 leads/s": offered({ perSecond: 200, seconds, isDelivering: true }) } },
    {
      ours: { "2,000 leads/s, delivering": offered({ perSecond: 2_000, seconds, isDelivering: true }) },
      peers: { "not delivering": offered({ perSecond: 2_000, seconds, isDelivering: false }) },
    },
  ],
};
