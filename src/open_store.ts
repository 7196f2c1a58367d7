/**
 * Opens everything that works on the database, in the order in which the parts need one another, and ties them
 * together: what the heartbeat finds out, the committer, the lookups and the delivery act upon.
 *
 * @module
 */

import { randomInt, randomUUID } from "node:crypto";
import type { Config } from "./config.ts";
import { limits } from "./contract/limits.ts";
import { type Delivery, startDelivery } from "./delivery/delivery.ts";
import type { Log } from "./log.ts";
import { AcceptStore, isQueued } from "./store/accept.ts";
import { requireUsableDatabase } from "./store/check.ts";
import { CheckoutStore } from "./store/checkout.ts";
import { Committer } from "./store/committer.ts";
import { FormStore } from "./store/forms.ts";
import { Heartbeat } from "./store/heartbeat.ts";
import { KeyStore } from "./store/keys.ts";
import { PlanSnapshot } from "./store/plan_snapshot.ts";
import { readReference, ReferenceReader } from "./store/reference.ts";
import { Retention } from "./store/retention.ts";
import { searchSettings } from "./store/search.ts";
import { describeError, Pool } from "./store/sql.ts";
import { Totals } from "./store/totals.ts";
import { Upkeep } from "./store/upkeep.ts";

// The 503 has to leave within 10 s (DECISIONS, The intake endpoint), the statement ends before we give it up.
const commitDeadlineMs = 9_500;
const statementTimeoutMs = 9_000;
// Several statements of a page must end within a request's 20 s, its page of the failure included.
const consoleStatementTimeoutMs = 8_000;
const consoleConnectionsMax = 2;
// The search takes milliseconds; a page that takes this long is given up before the one who waits gives up.
const searchTimeoutMs = 4_500;
const opsConnectionsMax = 2;
// Within the 20 s that a request has.
const reportTimeoutMs = 15_000;
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

/** Connections by purpose, so that none queues behind another's slow statements. */
interface Pools {
  readonly accepts: AcceptStore;
  /** Key lookups: a request waits for them. */
  readonly lookups: Pool;
  /** The snapshot, the totals and the listener's beats: nobody waits for them. */
  readonly background: Pool;
  /** The plans and the checkout. */
  readonly plans: Pool;
  /** The operator's pages: a slow one must keep nobody waiting. */
  readonly console: Pool;
  readonly ops: OpsPools;
}

/** What the operator reads as data, apart from what serves the public. */
export interface OpsPools {
  /** The search: planned along the indexes, answered in milliseconds. */
  readonly search: Pool;
  /** The report: it may take seconds, and nothing waits behind it. */
  readonly report: Pool;
}

/**
 * Opens the store.
 *
 * @throws {DatabaseRefused} when the database is not migrated or not durable
 * @throws {Unavailable} when it cannot be reached
 */
export async function openStore(config: Config, log: Log): Promise<Store> {
  const node = randomUUID();
  let heartbeat: Heartbeat | null = null;
  const pools = openPools(config, { node, log, isAway: () => heartbeat !== null && !heartbeat.writable });
  const { accepts, lookups, background } = pools;
  const plans = openPlans(pools.plans, log);
  try {
    await requireUsableDatabase(background);
    const reference = new ReferenceReader(background, nowMs, await readReference(background, nowMs));
    let delivery: Delivery | null = null;
    const committer = new Committer({
      accept: (entries, deadlineMs) => accepts.accept(entries, deadlineMs),
      writable: () => heartbeat?.writable ?? false,
      nowMs,
      deadlineMs: commitDeadlineMs,
      onRefused: (error) => log.error("entry_refused", { cause: describeError(error) }),
      onCommitted: (entries) => {
        heartbeat?.wrote();
        delivery?.wake(new Set(entries.filter(isQueued).map(({ tenantId }) => tenantId)));
      },
    });
    const beating = heartbeat = openHeartbeat(config, { committer, pools, plans, log });
    await Promise.all([beating.start(), plans.read()]);
    delivery = openDelivery(config, { node, background, log });
    const totals = new Totals(
      background,
      (error) => log.error("totals_kept", { cause: describeError(error) }),
    );
    const upkeep = new Upkeep({
      databaseUrl: config.databaseUrl,
      onFailure: (error) => log.error("upkeep_failed", { cause: describeError(error) }),
    });
    const retention = new Retention({
      databaseUrl: config.databaseUrl,
      onFailure: (error) => log.error("retention_failed", { cause: describeError(error) }),
      onRemoved: (events) => log.info("retention", { events }),
    });
    return {
      reference,
      plans,
      console: pools.console,
      checkouts: new CheckoutStore(pools.plans),
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
        await totals.close();
        await Promise.all([
          beating.close(),
          upkeep.close(),
          retention.close(),
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

function openPools(
  { databaseUrl }: Config,
  { node, log, isAway }: { node: string; log: Log; isAway: () => boolean },
): Pools {
  const open = (name: string) =>
    new Pool({ databaseUrl, name, connectionsMax: 1, statementTimeoutMs, isAway });
  return {
    accepts: new AcceptStore({
      databaseUrl,
      node,
      statementTimeoutMs,
      onWarning: (text) => log.error("commit_warning", { text }),
    }),
    lookups: open("lookup"),
    background: open("background"),
    plans: open("plans"),
    console: new Pool({
      databaseUrl,
      name: "console",
      connectionsMax: consoleConnectionsMax,
      statementTimeoutMs: consoleStatementTimeoutMs,
      isAway,
    }),
    ops: {
      search: new Pool({
        databaseUrl,
        name: "ops",
        connectionsMax: opsConnectionsMax,
        statementTimeoutMs: searchTimeoutMs,
        isAway,
        settings: searchSettings,
      }),
      report: new Pool({
        databaseUrl,
        name: "report",
        connectionsMax: 1,
        statementTimeoutMs: reportTimeoutMs,
        isAway,
      }),
    },
  };
}

/** All but that of the commits. */
function others({ lookups, background, plans, console: pages, ops }: Pools): Pool[] {
  return [lookups, background, plans, pages, ops.search, ops.report];
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
        // The feed finds out at once whether the plans can be read all the same.
        pools.plans.leaveStuck(0);
        void plans.read();
      }
    },
  });
}

function openDelivery(
  { databaseUrl, delivery }: Config,
  { node, background, log }: { node: string; background: Pool; log: Log },
): Delivery | null {
  if (delivery === null) return null;
  return startDelivery({ ...delivery, databaseUrl, node, newLease: () => randomUUID() }, {
    pool: background,
    nowMs,
    random: Math.random,
    onFailure: (what, error) => log.error("delivery_failure", { what, cause: describeError(error) }),
    onBreaker: (state) => log.info("breaker", { state }),
  });
}
