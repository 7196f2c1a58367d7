/**
 * Opens everything that works on the database, in the order in which the parts need one another.
 *
 * @module
 */

import { randomInt, randomUUID } from "node:crypto";
import { limits } from "../contract/limits.ts";
import { type Delivery, startDelivery } from "../delivery/delivery.ts";
import { addGauges, sampleOf } from "../observe/gauges.ts";
import type { Meters } from "../observe/meters.ts";
import type { Observe } from "../observe/observation.ts";
import { Sampler } from "../observe/sampler.ts";
import type { Config } from "../settings/config.ts";
import { Retention } from "../store/jobs/retention.ts";
import { Rollup } from "../store/jobs/rollup.ts";
import { writeSample } from "../store/jobs/samples.ts";
import { Upkeep } from "../store/jobs/upkeep.ts";
import { readOwnerRole, requireUsableDatabase } from "../store/schema/check.ts";
import { AcceptStore } from "../store/serving/accept.ts";
import { CheckoutStore } from "../store/serving/checkout.ts";
import { Committer } from "../store/serving/committer.ts";
import { FormStore } from "../store/serving/form_lookup.ts";
import { Heartbeat, type WritableReaction } from "../store/serving/heartbeat.ts";
import { KeyStore } from "../store/serving/key_lookup.ts";
import { PlanSnapshot } from "../store/serving/plan_snapshot.ts";
import { readReference, ReferenceReader } from "../store/serving/reference.ts";
import { Totals } from "../store/serving/totals.ts";
import { handOver } from "./handover.ts";
import { type Jobs, startJobs } from "./jobs.ts";
import { connectionsMax, failWaiting, openPools, type Pools, renewConnections } from "./pools.ts";

// The 503 has to leave within 10 s (DECISIONS, The intake endpoint), the statement ends before we give it up.
const commitDeadlineMs = 9_500;

/** The monotonic clock of the process, in milliseconds. */
export const nowMs = (): number => performance.now();

/** What works on the database. */
export interface Store {
  readonly pools: Pools;
  readonly reference: ReferenceReader;
  readonly committer: Committer;
  readonly heartbeat: Heartbeat;
  readonly keys: KeyStore;
  readonly forms: FormStore;
  readonly totals: Totals;
  readonly plans: PlanSnapshot;
  readonly checkouts: CheckoutStore;
  /** `null` without an actions tier. */
  readonly delivery: Delivery | null;
  /** Finishes commits and deliveries under way, the latter for at most `graceMs`, and closes the connections. */
  close(graceMs: number): Promise<void>;
}

/**
 * Opens the store.
 *
 * @throws {DatabaseRefused} when the database is not migrated or not durable
 * @throws {Unavailable} when it cannot be reached
 */
export async function openStore(config: Config, observe: Observe, meters: Meters): Promise<Store> {
  const { databaseUrl } = config;
  const pools: Pools = openPools({ databaseUrl, isAway: () => heartbeat.isAway, observe });
  const heartbeat = new Heartbeat({ pool: pools.heartbeat, nowMs, slot: randomInt(64) });
  const closePools = async () => {
    await Promise.all(Object.values(pools).map((pool) => pool.close()));
  };
  try {
    await requireUsableDatabase(pools.background);
    const owner = await readOwnerRole(pools.background);
    if (owner !== null) observe({ kind: "runs_as_owner", role: owner });
    observe({ kind: "connections", max: connectionsMax });
    return await openParts(config, { pools, heartbeat, closePools, observe, meters });
  } catch (error) {
    await closePools();
    throw error;
  }
}

/** What {@linkcode openParts} works with. */
interface Ground {
  readonly pools: Pools;
  readonly heartbeat: Heartbeat;
  readonly closePools: () => Promise<void>;
  readonly observe: Observe;
  readonly meters: Meters;
}

async function openParts(
  config: Config,
  { pools, heartbeat, closePools, observe, meters }: Ground,
): Promise<Store> {
  const node = randomUUID();
  const reference = new ReferenceReader(
    pools.background,
    nowMs,
    await readReference(pools.background, nowMs),
  );
  const plans = new PlanSnapshot({
    pool: pools.plans,
    nowMs,
    ageMaxMs: limits.plansSnapshotAgeMaxMs,
    observe,
  });
  const totals = new Totals(pools.background, observe);
  const delivery = await openDelivery(config, { node, pools, observe });
  const accepts = new AcceptStore(pools.commit, { node, nowMs });
  const committer = new Committer({
    accept: (entries, deadlineMs) => accepts.accept(entries, deadlineMs),
    writable: () => heartbeat.writable,
    nowMs,
    deadlineMs: commitDeadlineMs,
    handOver: handOver({ heartbeat, totals, delivery }),
    observe,
  });
  const upkeep = new Upkeep(pools.upkeep);
  const gauged = { committer, heartbeat, upkeep, delivery };
  addGauges(meters, gauged);
  const jobs = startJobs({
    heartbeat,
    reference,
    plans,
    totals,
    upkeep,
    sampler: new Sampler({
      read: () => sampleOf(meters, gauged),
      write: (sample) => writeSample(pools.background, node, sample),
    }),
    rollup: new Rollup(pools.rollup),
    retention: new Retention(pools.retention, observe),
  }, observe);
  heartbeat.react(reactionOf({ pools, committer, jobs, observe }));
  await Promise.all([jobs.heartbeat.soon(), jobs.plans.soon()]);
  return {
    pools,
    reference,
    plans,
    checkouts: new CheckoutStore(pools.checkout),
    delivery,
    committer,
    heartbeat,
    keys: new KeyStore(pools.lookup, nowMs),
    forms: new FormStore(pools.lookup, nowMs),
    totals,
    async close(graceMs) {
      jobs.stop();
      await committer.idle();
      await delivery?.close(graceMs);
      await jobs.finish();
      // A beat that is given up now says nothing of the store.
      heartbeat.react(() => {});
      await closePools();
    },
  };
}

/** What is done at once when the store stops taking writes, and when it takes them again. */
function reactionOf(
  { pools, committer, jobs, observe }: { pools: Pools; committer: Committer; jobs: Jobs; observe: Observe },
): WritableReaction {
  return (writable, error) => {
    if (writable) {
      observe({ kind: "store_writable" });
      renewConnections(pools);
      return;
    }
    observe({ kind: "store_not_writable", error });
    committer.refuseWaiting();
    failWaiting(pools);
    // The feed finds out at once whether the plans can be read all the same.
    void jobs.plans.soon();
  };
}

function openDelivery(
  { databaseUrl, delivery }: Config,
  { node, pools, observe }: { node: string; pools: Pools; observe: Observe },
): Promise<Delivery> | null {
  if (delivery === null) return null;
  return startDelivery({ ...delivery, databaseUrl, node, newLease: () => randomUUID() }, {
    pool: pools.delivery,
    listenerPool: pools.background,
    nowMs,
    random: Math.random,
    observe,
  });
}
