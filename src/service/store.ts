/** Opens every component that needs the database, in order of dependency. */

import { randomInt, randomUUID } from "node:crypto";
import { limits } from "../contract/limits.ts";
import { type Delivery, openSender, startDelivery } from "../delivery/delivery.ts";
import type { Sender } from "../delivery/send.ts";
import { addGauges, readSample } from "../observe/gauges.ts";
import type { Meters } from "../observe/meters.ts";
import type { Observe } from "../observe/observation.ts";
import { storedFeatures } from "../forms/learning.ts";
import { Sampler } from "../observe/sampler.ts";
import type { Config } from "../settings/config.ts";
import { Retention } from "../store/jobs/retention.ts";
import { Rollup } from "../store/jobs/rollup.ts";
import { writeSample } from "../store/jobs/samples.ts";
import { SearchIndexer } from "../store/jobs/search_indexer.ts";
import { SpamLearning } from "../store/jobs/spam_learning.ts";
import { StatusReader } from "../store/jobs/status.ts";
import { Maintenance } from "../store/jobs/maintenance.ts";
import { readSourceActivity, sourceRows } from "../store/operator/sources.ts";
import { readOwnerRole, requireUsableDatabase } from "../store/schema/check.ts";
import { Primary } from "../store/primary.ts";
import { AcceptStore } from "../store/serving/accept.ts";
import { CheckoutStore } from "../store/serving/checkout.ts";
import { Committer } from "../store/serving/committer.ts";
import { HeldLinkStore } from "../store/serving/held_links.ts";
import { FormStore, KeyStore } from "../store/serving/lookup.ts";
import { Heartbeat } from "../store/serving/heartbeat.ts";
import { PlanSnapshot } from "../store/serving/plans.ts";
import { readReference, ReferenceReader } from "../store/serving/reference.ts";
import { Totals } from "../store/serving/totals.ts";
import { createCommitListener } from "./commit_listener.ts";
import { type Jobs, startJobs } from "./jobs.ts";
import {
  connectionsMax,
  failWaitingStatements,
  openPools,
  type Pools,
  preconnect,
  renewConnections,
} from "./pools.ts";

// The 503 must be sent within 10 s (DECISIONS, The intake endpoint). A commit's statement times out earlier.
const commitDeadlineMs = 9_500;

/** Returns the time in milliseconds on a monotonic clock. */
export const nowMs = (): number => performance.now();

/** The components that use the database. */
export interface Store {
  readonly pools: Pools;
  readonly reference: ReferenceReader;
  readonly committer: Committer;
  readonly heartbeat: Heartbeat;
  readonly keys: KeyStore;
  readonly forms: FormStore;
  readonly heldLinks: HeldLinkStore;
  readonly totals: Totals;
  readonly learning: SpamLearning;
  readonly plans: PlanSnapshot;
  readonly checkouts: CheckoutStore;
  /** The connections to the actions tier; `null` if there is none, or this process does not use it. */
  readonly sender: Sender | null;
  /** `null` if this process does not deliver events. */
  readonly delivery: Delivery | null;
  /** Stops the jobs, finishes pending commits, waits up to `graceMs` for deliveries, and closes the connections. */
  close(graceMs: number): Promise<void>;
}

/**
 * Opens the store.
 *
 * @throws {DatabaseRefused} if the database is not migrated or not durable
 * @throws {Unavailable} if the database cannot be reached
 */
export async function openStore(config: Config, observe: Observe, meters: Meters): Promise<Store> {
  const primary = new Primary(config.databaseUrl);
  const pools: Pools = openPools({ primary, isUnavailable: () => heartbeat.isUnavailable, observe });
  const node = randomUUID();
  const heartbeat = new Heartbeat({ pool: pools.heartbeat, nowMs, slot: randomInt(64) });
  const closePools = async () => {
    await Promise.all(Object.values(pools).map((pool) => pool.close()));
  };
  try {
    await requireUsableDatabase(pools.jobs);
    preconnect(pools, config.surfaces);
    const [owner, initialReference] = await Promise.all([
      readOwnerRole(pools.jobs),
      readReference(pools.jobs, nowMs),
    ]);
    if (owner !== null) observe({ kind: "runs_as_owner", role: owner });
    observe({ kind: "connections", max: connectionsMax });
    const reference = new ReferenceReader(pools.jobs, nowMs, initialReference);
    const plans = new PlanSnapshot({
      pool: pools.reads,
      nowMs,
      ageMaxMs: limits.plansSnapshotAgeMaxMs,
      observe,
    });
    const totals = new Totals({ pool: pools.jobs, observe, nowMs });
    const sender = config.delivery === null ? null : await openSender(config.delivery, observe);
    const delivery = sender === null ? null : openDelivery(config, { node, primary, pools, observe, sender });
    const accepts = new AcceptStore(pools.commit, { node, nowMs });
    const committer = new Committer({
      accept: (entries, deadlineMs) => accepts.accept(entries, deadlineMs),
      writable: () => heartbeat.writable,
      nowMs,
      deadlineMs: commitDeadlineMs,
      listener: createCommitListener({ heartbeat, totals, delivery }),
      observe,
    });
    const maintenance = new Maintenance(pools.jobs, nowMs);
    const learning = new SpamLearning(pools.jobs, { isOn: config.formsSpamLearn });
    const status = new StatusReader(pools.jobs, async () => {
      const sources = sourceRows(await readSourceActivity(pools.jobs, { skipsActive: true }));
      return sources.filter(({ silent }) => silent).length;
    });
    const { backupMarksDir } = config;
    const gaugeParts = { committer, heartbeat, maintenance, status, delivery, backupMarksDir };
    addGauges(meters, gaugeParts);
    const jobs = startJobs({
      heartbeat,
      plans: config.surfaces.has("subscription") ? plans : null,
      reference,
      totals,
      sampler: new Sampler({
        read: () => readSample(meters, gaugeParts),
        write: (sample) => writeSample(pools.jobs, node, sample),
      }),
      maintenance,
      status,
      rollup: new Rollup(pools.jobs),
      searchIndexer: new SearchIndexer(pools.jobs),
      retention: new Retention(pools.jobs, observe),
      learning: config.surfaces.has("forms") || config.surfaces.has("ops") ? learning : null,
    }, observe);
    heartbeat.onChange((writable, error) => {
      if (writable) {
        observe({ kind: "store_writable" });
        // There is no outage before the first heartbeat, so the new connections are kept.
        if (heartbeat.hasBeaten) renewConnections(pools);
        return;
      }
      observe({ kind: "store_not_writable", error });
      committer.refuseWaiting();
      failWaitingStatements(pools);
      // Checks immediately whether the plans can still be read.
      void jobs.plans?.soon();
    });
    await Promise.all([sendFirstHeartbeat(heartbeat, jobs), jobs.plans?.soon()]);
    return {
      pools,
      reference,
      plans,
      checkouts: new CheckoutStore(pools.pages),
      sender,
      delivery,
      committer,
      heartbeat,
      keys: new KeyStore(pools.reads, nowMs),
      forms: new FormStore(pools.reads, nowMs),
      heldLinks: new HeldLinkStore(pools.pages, storedFeatures),
      totals,
      learning,
      async close(graceMs) {
        jobs.stop();
        await committer.idle();
        await delivery?.close(graceMs);
        sender?.close();
        await jobs.finish();
        // A canceled heartbeat does not indicate an outage.
        heartbeat.onChange(() => {});
        await closePools();
      },
    };
  } catch (error) {
    await closePools();
    throw error;
  }
}

/** Sends a heartbeat, and a second one if the first failed, because the first may only have been slow. */
async function sendFirstHeartbeat(heartbeat: Heartbeat, jobs: Jobs): Promise<void> {
  await jobs.heartbeat.soon();
  if (!heartbeat.writable) await jobs.heartbeat.soon();
}

function openDelivery(
  { delivery, listenUrl, surfaces }: Config,
  { node, primary, pools, ...hooks }: {
    readonly node: string;
    readonly primary: Primary;
    readonly pools: Pools;
    readonly observe: Observe;
    readonly sender: Sender;
  },
): Delivery | null {
  if (delivery === null || !surfaces.has("delivery")) return null;
  return startDelivery({ ...delivery, node, newLease: () => randomUUID() }, {
    ...hooks,
    pool: pools.delivery,
    listenOn: listenOn(primary, listenUrl),
    listenerPool: pools.jobs,
    nowMs,
    random: Math.random,
  });
}

// LISTEN does not work through a pooler; without a direct URL, the outbox is only polled.
function listenOn(primary: Primary, listenUrl: string | null): Primary | null {
  if (listenUrl !== null) return new Primary(listenUrl);
  return primary.address.isPooled ? null : primary;
}
