/**
 * The connection pools of a service process, by purpose, so that urgent statements do not queue behind slow ones.
 */

import type { StoreObservation } from "../store/observation.ts";
import { Pool, type PoolOptions } from "../store/pool.ts";
import type { Primary } from "../store/primary.ts";
import { searchTimeoutMs } from "../store/operator/search_entry.ts";
import { queryTimeoutMs } from "../store/query.ts";
import { type SurfaceName, surfaceNames } from "../settings/surface_names.ts";

/** A pool's purpose and limits. */
interface Purpose extends Pick<PoolOptions, "connectionsMax"> {
  /**
   * The server's timeout for a statement, shorter than the caller's deadline, so that an abandoned statement neither
   * takes effect later nor keeps its connection waiting for a lock.
   */
  readonly statementTimeoutMs: number;
  readonly purpose: string;
  /**
   * Whether the pool keeps its connections across an outage if the same server returns. Other pools open new connections.
   */
  readonly keepsConnections?: true;
  /** Whether waiting statements fail as soon as the store stops accepting writes, because requests depend on them. */
  readonly failsFast?: true;
  /** The surfaces for which the pool connects at startup, so that the first request does not wait. */
  readonly connectsFor?: readonly SurfaceName[];
}

/** All pools, most urgent first. */
export const pools = {
  commit: {
    connectionsMax: 1,
    // Less than the commit's deadline of 9.5 s (src/service/store.ts).
    statementTimeoutMs: 9_000,
    connectsFor: ["intake", "forms"],
    purpose: "commits posts, and nothing else",
  },
  // Apart from deliveries too: a missed heartbeat closes the pool's connections, and a claim whose response is lost then
  // delays its events by a lease.
  heartbeat: {
    connectionsMax: 1,
    connectsFor: surfaceNames,
    // Three times the interval between heartbeats.
    statementTimeoutMs: 1_500,
    keepsConnections: true,
    purpose: "checks that the store accepts writes; a slow statement ahead of it would look like an outage",
  },
  reads: {
    connectionsMax: 2,
    // Less than the deadline of a lookup (src/store/serving/lookup.ts).
    statementTimeoutMs: 4_500,
    failsFast: true,
    connectsFor: ["intake", "forms", "subscription"],
    purpose: "reads keys, forms and plans: short reads that requests wait for",
  },
  delivery: {
    connectionsMax: 2,
    statementTimeoutMs: 10_000,
    keepsConnections: true,
    purpose: "claims and settles deliveries, so that bursts of posts do not delay them",
  },
  // Enough for two pages, a report, and a checkout that waits for a lock; the timeout is less than a request's 20 s.
  pages: {
    connectionsMax: 4,
    statementTimeoutMs: queryTimeoutMs,
    failsFast: true,
    purpose:
      "serves the console, the report, the checkout and the links in digests: slow statements, kept apart from leads",
  },
  search: {
    connectionsMax: 2,
    statementTimeoutMs: searchTimeoutMs,
    failsFast: true,
    purpose: "searches: a statement that takes too long is cancelled, and the operator narrows it",
  },
  // Apart from pages: jobs must keep their connections in an outage, while pages must fail fast.
  jobs: {
    connectionsMax: 4,
    statementTimeoutMs: queryTimeoutMs,
    keepsConnections: true,
    purpose: "runs background jobs: counts, hourly totals, cleanup, the index for the search, vocabulary",
  },
} as const satisfies Readonly<Record<string, Purpose>>;

const purposes = Object.entries(pools) as [keyof typeof pools, Purpose][];

export type Pools = Readonly<Record<keyof typeof pools, Pool>>;

/**
 * The maximum number of connections from a process: those in {@linkcode pools}, and one that listens for notifications.
 */
export const connectionsMax: number = purposes.reduce(
  (sum, [, { connectionsMax }]) => sum + connectionsMax,
  1,
);

interface OpenPoolsOptions {
  readonly primary: Primary;
  readonly isUnavailable: () => boolean;
  readonly observe: (observation: StoreObservation) => void;
}

export function openPools({ primary, isUnavailable, observe }: OpenPoolsOptions): Pools {
  const onWarning = (text: string) => observe({ kind: "commit_warning", text });
  const open = (name: string, { connectionsMax, statementTimeoutMs, keepsConnections }: Purpose) =>
    new Pool({
      primary,
      name,
      connectionsMax,
      statementTimeoutMs,
      ...(keepsConnections ? {} : { isUnavailable }),
      ...(name === "commit" ? { onWarning } : {}),
    });
  return Object.fromEntries(purposes.map(([name, row]) => [name, open(name, row)])) as Pools;
}

/**
 * Starts connecting the pools that the surfaces need first, in parallel, so that the first post does not wait for five
 * round trips.
 */
export function preconnect(opened: Pools, surfaces: ReadonlySet<SurfaceName>): void {
  for (const [name, { connectsFor = [] }] of purposes) {
    if (connectsFor.some((surface) => surfaces.has(surface))) void opened[name].connect();
  }
}

// After an outage, a connection is considered dead if a statement gets no response for this long.
const renewGraceMs = 500;

/** Replaces connections when the store accepts writes again, because the old ones may have failed unnoticed. */
export function renewConnections(opened: Pools): void {
  for (const [name, { keepsConnections }] of purposes) {
    if (keepsConnections) opened[name].followPrimary();
    else opened[name].renew(renewGraceMs);
  }
}

/** Fails waiting statements when the store stops accepting writes. */
export function failWaitingStatements(opened: Pools): void {
  for (const [name, { failsFast }] of purposes) if (failsFast) opened[name].replaceStuck(0);
}
