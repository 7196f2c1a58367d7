/**
 * Opens everything that works on the database, in the order in which the parts need one another, and ties them
 * together: what the heartbeat finds out, the committer, the lookups and the delivery act upon.
 *
 * @module
 */

import { randomInt, randomUUID } from "node:crypto";
import type { Config } from "../settings/config.ts";
import { limits } from "../contract/limits.ts";
import { type Delivery, startDelivery } from "../delivery/delivery.ts";
import type { Log } from "../observe/log.ts";
import type { Meters } from "../observe/meters.ts";
import { openPools, type OpsPools, others, type Pools } from "./pools.ts";
import { Sampler } from "../observe/sampler.ts";
import { addGauges, standing } from "../observe/gauges.ts";
import { type AcceptStore, isQueued } from "../store/serving/accept.ts";
import { requireUsableDatabase } from "../store/schema/check.ts";
import { CheckoutStore } from "../store/serving/checkout.ts";
import { Committer } from "../store/serving/committer.ts";
import { FormStore } from "../store/serving/form_lookup.ts";
import { Heartbeat } from "../store/serving/heartbeat.ts";
import { KeyStore } from "../store/serving/key_lookup.ts";
import { PlanSnapshot } from "../store/serving/plan_snapshot.ts";
import { readReference, ReferenceReader } from "../store/serving/reference.ts";
import { Retention } from "../store/jobs/retention.ts";
import { Rollup } from "../store/jobs/rollup.ts";
import { writeSample } from "../store/jobs/samples.ts";
import { describeError, type Pool } from "../store/pool.ts";
import { Totals } from "../store/serving/totals.ts";
import { Upkeep } from "../store/jobs/upkeep.ts";

// The 503 has to leave within 10 s (DECISIONS, The intake endpoint), the statement ends before we give it up.
const commitDeadlineMs = 9_500;
// After an outage, a statement that is still silent this long sits on a dead connection.
const renewGraceMs = 500;

/** The monotonic clock of the process, in milliseconds. */
export const nowMs = (): number => performance.now();

/** What works on the database. */
export interface Store {
  readonly reference: ReferenceReader;
  readonly committer: Committer;
  readonly heartbeat: Heartbeat;
  readonly keys: KeyStore;
  readonly forms: FormStore;
  readonly totals: Totals;
  readonly upkeep: Upkeep;
  readonly plans: PlanSnapshot;
  /** Connections of the operator's pages. */
  readonly console: Pool;
  readonly checkouts: CheckoutStore;
  readonly ops: OpsPools;
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
export async function openStore(config: Config, log: Log, meters: Meters): Promise<Store> {
  const node = randomUUID();
  let heartbeat: Heartbeat | null = null;
  const pools = openPools(config, {
    node,
    nowMs,
    log,
    isAway: () => heartbeat !== null && !heartbeat.writable,
  });
  const { accepts, lookups, background } = pools;
  const plans = openPlans(pools.plans, log);
  try {
    await requireUsableDatabase(background);
    const reference = new ReferenceReader(background, nowMs, await readReference(background, nowMs));
    let delivery: Delivery | null = null;
    const totals = new Totals(
      background,
      (error) => log.error("totals_kept", { cause: describeError(error) }),
      { onRefused: (reason) => meters.refusedFor(reason) },
    );
    const committer = new Committer({
      accept: meteredAccept(accepts, {
        meters,
        onDuplicate: (keyId) => totals.duplicate(keyId),
      }),
      writable: () => heartbeat?.writable ?? false,
      nowMs,
      deadlineMs: commitDeadlineMs,
      onRefused: (error) => log.error("entry_refused", { cause: describeError(error) }),
      onFailed: (error) => heartbeat?.commitFailed(error),
      onCommitted: (entries) => {
        heartbeat?.committed();
        delivery?.wake(new Set(entries.filter(isQueued).map(({ tenantId }) => tenantId)));
      },
    });
    const beating = heartbeat = openHeartbeat(config, { committer, pools, plans, log });
    await Promise.all([beating.start(), plans.read()]);
    delivery = openDelivery(config, { node, background, log, meters });
    const upkeep = new Upkeep({
      databaseUrl: config.databaseUrl,
      onFailure: (error) => log.error("upkeep_failed", { cause: describeError(error) }),
    });
    const retention = new Retention({
      databaseUrl: config.databaseUrl,
      onFailure: (error) => log.error("retention_failed", { cause: describeError(error) }),
      onRemoved: (events) => log.info("retention", { events }),
    });
    const rollup = new Rollup({
      databaseUrl: config.databaseUrl,
      onFailure: (error) => log.error("rollup_failed", { cause: describeError(error) }),
    });
    const parts = { committer, heartbeat: beating, upkeep, delivery };
    addGauges(meters, parts);
    const sampler = new Sampler({
      read: () => standing(meters, parts),
      write: (sample) => writeSample(background, node, sample),
      onFailure: (error) => log.error("sample_kept", { cause: describeError(error) }),
    });
    return {
      reference,
      plans,
      console: pools.console,
      checkouts: new CheckoutStore(pools.checkout),
      upkeep,
      delivery,
      committer,
      heartbeat: beating,
      keys: new KeyStore(lookups, nowMs),
      forms: new FormStore(lookups, nowMs),
      totals,
      ops: pools.ops,
      async close(graceMs) {
        await committer.idle();
        await delivery?.close(graceMs);
        reference.close();
        plans.close();
        await Promise.all([totals.close(), sampler.close()]);
        await Promise.all([
          beating.close(),
          upkeep.close(),
          retention.close(),
          rollup.close(),
          accepts.close(),
          ...others(pools).map((pool) => pool.close()),
        ]);
      },
    };
  } catch (error) {
    plans.close();
    await Promise.all([accepts, ...others(pools)].map((pool) => pool.close()));
    throw error;
  }
}

function openPlans(pool: Pool, log: Log): PlanSnapshot {
  return new PlanSnapshot({
    pool,
    nowMs,
    ageMaxMs: limits.plansSnapshotAgeMaxMs,
    onFailure: (error) => log.error("plans_unreadable", { cause: describeError(error) }),
  });
}

function openHeartbeat(
  { databaseUrl }: Config,
  { committer, pools, plans, log }: { committer: Committer; pools: Pools; plans: PlanSnapshot; log: Log },
): Heartbeat {
  return new Heartbeat({
    databaseUrl,
    nowMs,
    slot: randomInt(64),
    onChange: (writable, cause) => {
      if (writable) {
        log.info("store_writable");
        pools.accepts.renew(renewGraceMs);
        for (const pool of others(pools)) pool.renew(renewGraceMs);
      } else {
        log.error("store_not_writable", { cause: describeError(cause) });
        committer.refuseWaiting();
        // Lookups fail fast as commits do.
        pools.lookups.leaveStuck(0);
        pools.console.leaveStuck(0);
        pools.checkout.leaveStuck(0);
        // The feed finds out at once whether the plans can be read all the same.
        pools.plans.leaveStuck(0);
        void plans.read();
      }
    },
  });
}

function openDelivery(
  { databaseUrl, delivery }: Config,
  { node, background, log, meters }: { node: string; background: Pool; log: Log; meters: Meters },
): Delivery | null {
  if (delivery === null) return null;
  return startDelivery({ ...delivery, databaseUrl, node, newLease: () => randomUUID() }, {
    pool: background,
    nowMs,
    random: Math.random,
    onFailure: (what, error) => log.error("delivery_failure", { what, cause: describeError(error) }),
    onBreaker: (state) => log.info("breaker", { state }),
    onSettled: (settlements) => meters.settled(settlements, Date.now()),
  });
}

/** The commit of a batch, with what the meters and the totals are told of it. */
function meteredAccept(
  accepts: AcceptStore,
  { meters, onDuplicate }: {
    meters: Meters;
    onDuplicate: (keyId: number) => void;
  },
): AcceptStore["accept"] {
  return async (entries, deadlineMs) => {
    const startedAtMs = nowMs();
    try {
      const outcomes = await accepts.accept(entries, deadlineMs);
      meters.committed(entries, outcomes, (nowMs() - startedAtMs) / 1_000);
      for (const [index, { kind }] of outcomes.entries()) {
        if (kind === "duplicate") onDuplicate((entries[index] as typeof entries[number]).keyId);
      }
      return outcomes;
    } catch (error) {
      meters.commitFailed();
      throw error;
    }
  };
}
