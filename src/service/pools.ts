/**
 * The connections of the service process.
 *
 * @module
 */

import type { Config } from "../settings/config.ts";
import type { Log } from "../observe/log.ts";
import { AcceptStore } from "../store/serving/accept.ts";
import { searchSettings } from "../store/operator/search.ts";
import { Pool } from "../store/pool.ts";

// Shorter than a commit's deadline (src/service/store.ts): the statement ends before we give it up.
const statementTimeoutMs = 9_000;
// Shorter than a lookup's deadline (src/store/serving/key_lookup.ts), for the same reason.
const lookupTimeoutMs = 4_500;
// Several statements of a page must end within a request's 20 s, its page of the failure included.
const consoleStatementTimeoutMs = 8_000;
const consoleConnectionsMax = 2;
// The search takes milliseconds; a page that takes this long is given up before the one who waits gives up.
const searchTimeoutMs = 4_500;
const opsConnectionsMax = 2;
// One that waits for a lock keeps no other checkout and no event of the provider waiting.
const checkoutConnectionsMax = 2;
// Within the 20 s that a request has.
const reportTimeoutMs = 15_000;
/** Connections by purpose, so that none queues behind another's slow statements. */
export interface Pools {
  readonly accepts: AcceptStore;
  /** Key lookups: a request waits for them. */
  readonly lookups: Pool;
  /** The snapshot, the totals and the listener's beats: nobody waits for them. */
  readonly background: Pool;
  /** The plans: the feed is not to wait, or to go, because a checkout waits. */
  readonly plans: Pool;
  /** The checkout and the payment provider's events. */
  readonly checkout: Pool;
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

/** Opens them all; they connect when they are used. */
export function openPools(
  { databaseUrl }: Config,
  { node, nowMs, log, isAway }: { node: string; nowMs: () => number; log: Log; isAway: () => boolean },
): Pools {
  const open = (name: string, connectionsMax = 1) =>
    new Pool({ databaseUrl, name, connectionsMax, statementTimeoutMs, isAway });
  return {
    accepts: new AcceptStore({
      databaseUrl,
      node,
      nowMs,
      statementTimeoutMs,
      onWarning: (text) => log.error("commit_warning", { text }),
    }),
    lookups: new Pool({
      databaseUrl,
      name: "lookup",
      connectionsMax: 1,
      statementTimeoutMs: lookupTimeoutMs,
      isAway,
      isPrimaryOnly: true,
    }),
    background: open("background"),
    plans: open("plans"),
    checkout: open("checkout", checkoutConnectionsMax),
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
export function others({ lookups, background, plans, checkout, console: pages, ops }: Pools): Pool[] {
  return [lookups, background, plans, checkout, pages, ops.search, ops.report];
}
